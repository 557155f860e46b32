/** An import as a whole, for whoever watches it: how far it is, a report at its end however it ends, its place in the audit log. */
import { record, type ActContext } from "../accounts/audit.service.ts";
import type { ColumnNames } from "./job.file.ts";
import { importJobs, type ImportCounts, type ImportServices, type RowFailure } from "./job.import.ts";
import { ImportTally, type ListedFailure } from "./job.import.tally.ts";
import { readRows, type FileFormat } from "./job.import.rows.ts";

export interface ImportRequest {
  format: FileFormat;
  /** The file's own names of its columns; absent: it has ours. */
  columns?: ColumnNames | undefined;
  /** Organisations, by id or exact name, for the rows that name none. */
  agent?: string | undefined;
  contractor?: string | undefined;
  /** Check and count everything, change nothing. */
  dryRun: boolean;
  /** The file's name, for the audit log. */
  fileName?: string | undefined;
}

/** After each chunk, once it is committed. */
export interface ImportProgress {
  type: "progress";
  /** Of all chunks until now. */
  counts: ImportCounts;
  /** The rows of this chunk that failed. */
  failures: readonly RowFailure[];
}

/** The last thing that is told. */
export interface ImportOutcome {
  type: "report";
  dryRun: boolean;
  /** What is in, also where the import stopped before its end. */
  counts: ImportCounts;
  failures: ListedFailure[];
  /** How many more rows failed than are listed. */
  failuresLeftOut: number;
  /** What was thrown where it stopped before its end; null: it did not. */
  stopped: unknown;
}

export interface ImportService {
  /**
   * Imports the file that `chunks` bring, and tells how far it is. What is wrong with the request or with the file's first
   * thousand rows as a whole is thrown before anything is told; what stops the import later is told by its report. `signal`
   * stops it between two chunks. `context`: an operator's, which is for the caller to know.
   */
  run(
    context: ActContext,
    request: ImportRequest,
    file: { chunks: AsyncIterable<Uint8Array>; signal: AbortSignal },
  ): AsyncGenerator<ImportProgress | ImportOutcome>;
}

export function createImportService(services: ImportServices): ImportService {
  return {
    async *run(context, request, { chunks, signal }) {
      const { format, columns, agent, contractor, dryRun } = request;
      const rows = readRows(chunks, { format, columns });
      const { actor, requestId } = context;
      const tally = new ImportTally();
      let hasBegun = false;
      let stopped: unknown = null;
      try {
        for await (const part of importJobs(services, rows, {
          agent,
          contractor,
          dryRun,
          actor,
          requestId,
        })) {
          tally.add(part);
          // Only now: a file that is refused as a whole was no import. From here on rows are in, whatever fails.
          const isFirst = !hasBegun;
          hasBegun = true;
          if (isFirst) await note(services, "started", { context, request, tally });
          yield { type: "progress", counts: { ...tally.counts }, failures: part.failures };
          signal.throwIfAborted();
        }
      } catch (error) {
        if (!hasBegun) throw error;
        stopped = error;
      }
      await note(services, stopped === null ? "finished" : "stopped", { context, request, tally }).catch(
        // PostgreSQL is out of reach, which is probably what has stopped it: what is in is told all the same.
        (error: unknown) => void (stopped ??= error),
      );
      yield { type: "report", dryRun, ...tally.result(), stopped };
    },
  };
}

interface Noted {
  context: ActContext;
  request: ImportRequest;
  tally: ImportTally;
}

/** At its beginning too: nothing else tells of it where the process ends in between. A dry run is no act. */
async function note(
  { database }: ImportServices,
  what: "started" | "finished" | "stopped",
  { context, request, tally }: Noted,
): Promise<void> {
  const { format, agent, contractor, fileName, dryRun } = request;
  if (dryRun) return;
  await record(database, {
    action: `import.${what}`,
    ...context,
    organizationId: null,
    subject: fileName,
    details: { format, agent, contractor, ...(what !== "started" && tally.counts) },
  });
}
