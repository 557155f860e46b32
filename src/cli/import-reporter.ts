/** Builds the report of an import in bounded memory: prints every failed row and stores the first 1,000. */
import type { ImportCounts, ImportProgress, RowFailure } from "../jobs/api.ts";
import { escapeControlCharacters } from "./output.ts";

/** Failed rows listed in the JSON document; standard error lists all of them. */
export const MAX_LISTED_FAILURES = 1_000;
const MAX_MARKING_NUMBER_LENGTH = 60;
const outcomes = ["created", "updated", "unchanged", "failed"] as const;

export class ImportReporter {
  counts: ImportCounts = { created: 0, updated: 0, unchanged: 0, failed: 0 };
  readonly #listed: RowFailure[] = [];
  readonly #printLine: (line: string) => void;

  constructor(printLine: (line: string) => void) {
    this.#printLine = printLine;
  }

  add({ counts, failures }: ImportProgress): void {
    this.counts = counts;
    this.#listed.push(...failures.slice(0, MAX_LISTED_FAILURES - this.#listed.length));
    for (const line of failures.flatMap(formatRowFailure)) this.#printLine(escapeControlCharacters(line));
  }

  get rows(): number {
    const { created, updated, unchanged, failed } = this.counts;
    return created + updated + unchanged + failed;
  }

  summary(): string {
    const parts = outcomes.map((name) => `${this.counts[name].toLocaleString("en")} ${name}`);
    return `${parts.join(", ")}.`;
  }

  toDocument() {
    const failures = this.#listed.map(({ line, markingNumber, problems }) => ({
      line,
      marking_number: markingNumber,
      problems,
    }));
    return { ...this.counts, failures, failures_left_out: this.counts.failed - failures.length };
  }
}

function formatRowFailure({ line, markingNumber, problems }: RowFailure): string[] {
  const number = markingNumber === null ? "" : ` (${markingNumber.slice(0, MAX_MARKING_NUMBER_LENGTH)})`;
  return problems.map(
    ({ field, message }) => `line ${line}${number}: ${field === null ? "" : `${field}: `}${message}`,
  );
}
