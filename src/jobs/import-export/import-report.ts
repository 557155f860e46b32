/** Builds the report of an import in bounded memory: counts every row and lists failed rows up to a limit. */
import type { ImportCounts, ImportChunkReport, RowFailure } from "./import.ts";

/** Enough for about ten thousand rows with one problem each. The list stays in memory until the import ends. */
const MAX_LISTED_BYTES = 2_097_152;
/** Problems per row and characters per text: both come from the file. */
const MAX_PROBLEMS = 25;
const MAX_TEXT_LENGTH = 300;
const rowOutcomes = ["created", "updated", "unchanged", "failed"] as const;

export class ImportReportBuilder {
  readonly counts: ImportCounts = { created: 0, updated: 0, unchanged: 0, failed: 0 };
  readonly #listed: RowFailure[] = [];
  #bytes = 0;

  add({ counts, failures }: ImportChunkReport): void {
    for (const name of rowOutcomes) this.counts[name] += counts[name];
    for (const failure of failures) {
      if (this.#bytes >= MAX_LISTED_BYTES) return;
      const listed = toListedFailure(failure);
      this.#bytes += JSON.stringify(listed).length;
      this.#listed.push(listed);
    }
  }

  build(): { counts: ImportCounts; failures: RowFailure[]; failuresOmitted: number } {
    const { counts } = this;
    return { counts, failures: this.#listed, failuresOmitted: counts.failed - this.#listed.length };
  }
}

function toListedFailure({ line, markingNumber, problems }: RowFailure): RowFailure {
  return {
    line,
    markingNumber: truncate(markingNumber),
    problems: problems
      .slice(0, MAX_PROBLEMS)
      .map(({ field, message }) => ({ field: truncate(field), message: truncate(message) })),
  };
}

function truncate<Text extends string | null>(text: Text): Text | string {
  return text !== null && text.length > MAX_TEXT_LENGTH ? `${text.slice(0, MAX_TEXT_LENGTH)}…` : text;
}
