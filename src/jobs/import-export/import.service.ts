/** An import as a whole, for whoever watches it: how far it is, a report at its end however it ends, its place in the audit log. */
import { type AuditContext, recordAuditEvent } from "../../audit/api.ts";
import type { ColumnMapping } from "./file-codec.ts";
import { importJobs, type ImportCounts, type ImportDeps, type RowFailure } from "./import.ts";
import { ImportReportBuilder, type ListedFailure } from "./import-report.ts";
import { readRows, type FileFormat } from "./import-rows.ts";

export interface ImportRequest {
  format: FileFormat;
  /** The file's own names of its columns; absent: it has ours. */
  columns?: ColumnMapping | undefined;
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
export interface ImportSummary {
  type: "report";
  dryRun: boolean;
  /** What is in, also where the import stopped before its end. */
  counts: ImportCounts;
  failures: ListedFailure[];
  /** How many more rows failed than are listed. */
  failuresLeftOut: number;
  /** What was thrown where it stopped before its end; null: it did not. */
  error: unknown;
}

export interface ImportService {
  /**
   * Imports the file that `chunks` bring, and tells how far it is. What is wrong with the request or with the file's first
   * thousand rows as a whole is thrown before anything is told; what stops the import later is told by its report. `signal`
   * stops it between two chunks. `context`: an operator's, which is for the caller to know.
   */
  run(
    context: AuditContext,
    request: ImportRequest,
    file: { chunks: AsyncIterable<Uint8Array>; signal: AbortSignal },
  ): AsyncGenerator<ImportProgress | ImportSummary>;
}

export function createImportService(services: ImportDeps): ImportService {
  return {
    async *run(context, request, { chunks, signal }) {
      const { format, columns, agent, contractor, dryRun } = request;
      const rows = readRows(chunks, { format, columns });
      const { actor, requestId } = context;
      const report = new ImportReportBuilder();
      let hasBegun = false;
      let abortError: unknown = null;
      try {
        for await (const chunk of importJobs(services, rows, {
          agent,
          contractor,
          dryRun,
          actor,
          requestId,
        })) {
          report.add(chunk);
          // Only now: a file that is refused as a whole was no import. From here on rows are in, whatever fails.
          const isFirst = !hasBegun;
          hasBegun = true;
          if (isFirst) await auditImport(services, "started", { context, request, report });
          yield { type: "progress", counts: { ...report.counts }, failures: chunk.failures };
          signal.throwIfAborted();
        }
      } catch (error) {
        if (!hasBegun) throw error;
        abortError = error;
      }
      await auditImport(services, abortError === null ? "finished" : "stopped", {
        context,
        request,
        report,
      }).catch(
        // PostgreSQL is out of reach, which is probably what has stopped it: what is in is told all the same.
        (error: unknown) => void (abortError ??= error),
      );
      yield { type: "report", dryRun, ...report.build(), error: abortError };
    },
  };
}

interface ImportAuditContext {
  context: AuditContext;
  request: ImportRequest;
  report: ImportReportBuilder;
}

/** At its beginning too: nothing else tells of it where the process ends in between. A dry run is no act. */
async function auditImport(
  { database }: ImportDeps,
  phase: "started" | "finished" | "stopped",
  { context, request, report }: ImportAuditContext,
): Promise<void> {
  const { format, agent, contractor, fileName, dryRun } = request;
  if (dryRun) return;
  await recordAuditEvent(database, {
    action: `import.${phase}`,
    ...context,
    organizationId: null,
    subject: fileName,
    details: { format, agent, contractor, ...(phase !== "started" && report.counts) },
  });
}
