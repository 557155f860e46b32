/** Runs an import: reports progress after each chunk and a summary at the end, and records it in the audit log. */
import { type AuditContext, recordAuditEvent } from "../../audit/api.ts";
import type { Database } from "../../core/postgres/database.ts";
import {
  importJobs,
  type ImportCounts,
  type ImportDeps,
  type ImportOptions,
  type RowFailure,
} from "./import.ts";
import { ImportReportBuilder } from "./import-report.ts";
import { readRows, type FileReadOptions } from "./import-rows.ts";

export interface ImportRequest extends ImportOptions, FileReadOptions {
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
  failures: RowFailure[];
  /** The number of failed rows that are not listed. */
  failuresOmitted: number;
  /** The error that stopped the import; null if it finished. */
  error: unknown;
}

export type ImportService = ReturnType<typeof createImportService>;

export function createImportService(deps: ImportDeps) {
  return {
    /**
     * Imports a file and yields its progress and a summary. Errors before the first chunk is committed are thrown; later ones
     * are in the summary. `signal` stops the import between two chunks. The caller checks that `context` is an operator's.
     */
    async *run(
      context: AuditContext,
      request: ImportRequest,
      { chunks, signal }: { chunks: AsyncIterable<Uint8Array>; signal: AbortSignal },
    ): AsyncGenerator<ImportProgress | ImportSummary> {
      const { dryRun } = request;
      const { actor, requestId } = context;
      const report = new ImportReportBuilder();
      /** Also records the start, in case the process ends during the import. Dry runs are not recorded. */
      const audit = async (phase: "started" | "finished" | "stopped"): Promise<void> => {
        if (!dryRun) await recordImport(deps.database, context, { phase, request, counts: report.counts });
      };
      let hasBegun = false;
      let abortError: unknown = null;
      try {
        for await (const chunk of importJobs(deps, readRows(chunks, request), {
          ...request,
          actor,
          requestId,
        })) {
          report.add(chunk);
          // Recorded after the first chunk, because a file that is rejected as a whole is not an import.
          const isFirst = !hasBegun;
          hasBegun = true;
          if (isFirst) await audit("started");
          yield { type: "progress", counts: { ...report.counts }, failures: chunk.failures };
          signal.throwIfAborted();
        }
      } catch (error) {
        if (!hasBegun) throw error;
        abortError = error;
      }
      await audit(abortError === null ? "finished" : "stopped").catch(
        // PostgreSQL is probably unreachable, which also stopped the import. The summary is sent anyway.
        (error: unknown) => void (abortError ??= error),
      );
      yield { type: "report", dryRun, ...report.build(), error: abortError };
    },
  };
}

async function recordImport(
  database: Database,
  context: AuditContext,
  { phase, request, counts }: { phase: string; request: ImportRequest; counts: ImportCounts },
): Promise<void> {
  const { format, dates, agent, contractor, fileName } = request;
  await recordAuditEvent(database, {
    action: `import.${phase}`,
    ...context,
    organizationId: null,
    subject: fileName,
    details: { format, dates, agent, contractor, ...(phase !== "started" && counts) },
  });
}
