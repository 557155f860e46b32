/** Runs an import: reports progress after each chunk and a summary at the end, and records it in the audit log. */
import { type AuditContext, recordAuditEvent } from "../../audit/api.ts";
import type { ColumnMapping } from "./file-codec.ts";
import { importJobs, type ImportCounts, type ImportDeps, type RowFailure } from "./import.ts";
import { ImportReportBuilder, type ListedFailure } from "./import-report.ts";
import { readRows, type FileFormat } from "./import-rows.ts";

export interface ImportRequest {
  format: FileFormat;
  /** Maps the file's column names to ours; absent if the file uses ours. */
  columns?: ColumnMapping | undefined;
  /** Default organisations, by id or exact name, for rows that name none. */
  agent?: string | undefined;
  contractor?: string | undefined;
  /** Validate and count everything without changing anything. */
  dryRun: boolean;
  /** The file's name, for the audit log. */
  fileName?: string | undefined;
}

/** Sent after each committed chunk. */
export interface ImportProgress {
  type: "progress";
  /** The totals of all chunks so far. */
  counts: ImportCounts;
  /** The failed rows of this chunk. */
  failures: readonly RowFailure[];
}

/** Sent last. */
export interface ImportSummary {
  type: "report";
  dryRun: boolean;
  /** The imported rows, even if the import stopped early. */
  counts: ImportCounts;
  failures: ListedFailure[];
  /** The number of failed rows that are not listed. */
  failuresLeftOut: number;
  /** The error that stopped the import; null if it finished. */
  error: unknown;
}

export interface ImportService {
  /**
   * Imports a file and yields its progress and a summary. Errors before the first chunk is committed are thrown; later ones
   * are in the summary. `signal` stops the import between two chunks. The caller checks that `context` is an operator's.
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
          // Recorded after the first chunk, because a file that is rejected as a whole is not an import.
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
        // PostgreSQL is probably unreachable, which also stopped the import. The summary is sent anyway.
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

/** Also records the start, in case the process ends during the import. Dry runs are not recorded. */
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
