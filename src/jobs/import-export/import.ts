/**
 * Imports a file as jobs in chunks of 1,000 rows, one transaction each. Reports progress after each chunk and a summary at the end,
 * and records the import in the audit log.
 */
import { type AuditContext, recordAuditEvent } from "../../audit/api.ts";
import type { OrganizationService } from "../../organizations/api.ts";
import { FairSemaphore } from "../../core/concurrency/semaphore.ts";
import type { Database } from "../../core/postgres/database.ts";
import { invariant } from "../../core/errors.ts";
import type {
  ChangeContext,
  OrganizationPrincipal,
  OrganizationType,
  Principal,
} from "../../core/principal.ts";
import type { JobReferenceData } from "../reference-data.ts";
import {
  validateRow,
  createOrganizationResolver,
  partnersOfAgent,
  type ValidatedRow,
  type RowValidationContext,
} from "./import-validation.ts";
import { readRows, type FileReadOptions, type ImportRow, type RowProblem } from "./import-rows.ts";
import { applyInBatches, notifyChanges, type ChangeListeners } from "../update/bulk.ts";
import { upsertRows, type UpsertOutcome } from "../update/upsert.sql.ts";

export interface ImportDeps extends ChangeListeners {
  database: Database;
  referenceData: JobReferenceData;
  organizations: OrganizationService;
}

export interface ImportOptions {
  /** The agent whose user imports: the jobs are its own, and it names only contractors that it works with. Null: an operator imports. */
  importer?: OrganizationPrincipal | null;
  /**
   * Validate and count without changing anything. Each chunk is rolled back on its own, because one long transaction would
   * lock jobs and delay the feed. A Marking Number repeated in a later chunk is therefore counted again.
   */
  dryRun: boolean;
  /** Default organisations, by id or exact name, for rows that name none. */
  agent?: string | undefined;
  contractor?: string | undefined;
}

export interface RowFailure {
  line: number;
  /** Null if the row could not be parsed or has none. */
  markingNumber: string | null;
  problems: readonly RowProblem[];
  /** The texts of the row in the file; absent in NDJSON. */
  cells?: readonly string[] | undefined;
}

export type ImportCounts = Record<(typeof rowOutcomes)[number], number>;

interface ImportChunkReport {
  counts: ImportCounts;
  failures: RowFailure[];
}

export interface ImportRequest extends Omit<ImportOptions, "importer">, FileReadOptions {
  fileName?: string | undefined;
}

/** Sent after each committed chunk. */
export interface ImportProgress {
  type: "progress";
  /** The totals of all chunks so far. */
  counts: ImportCounts;
  failures: readonly RowFailure[];
}

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

const rowOutcomes = ["created", "updated", "unchanged", "failed"] as const;
/** Without a principal, the command line imports. */
interface ImportContext extends AuditContext {
  principal?: Principal;
}

/** Rows per statement and transaction. It also bounds the memory. */
const CHUNK_SIZE = 1_000;

/** The listed failures stay in memory until the import ends: about five thousand rows with their cells and one problem each. */
const MAX_LISTED_BYTES = 2_097_152;

export class ImportService {
  readonly #deps: ImportDeps;
  readonly #turns = new FairSemaphore({ permits: Number.POSITIVE_INFINITY, permitsPerKey: 1 });

  constructor(deps: ImportDeps) {
    this.#deps = deps;
  }

  /**
   * Imports a file and yields its progress and a summary. Errors before the first chunk is committed are thrown; later ones
   * are in the summary. `signal` stops the import between two chunks. The caller checks `importAccess`. The imports of an
   * organisation run one after the other.
   */
  async *run(
    { principal, ...context }: ImportContext,
    request: ImportRequest,
    { chunks, signal }: { chunks: AsyncIterable<Uint8Array>; signal: AbortSignal },
  ): AsyncGenerator<ImportProgress | ImportSummary> {
    const { dryRun } = request;
    const { actor, requestId } = context;
    const importer = principal && principal.organizationId !== null ? principal : null;
    using turn = new DisposableStack();
    if (importer) {
      await this.#turns.acquire(importer.organizationId);
      turn.defer(() => this.#turns.release(importer.organizationId));
    }
    const counts = { created: 0, updated: 0, unchanged: 0, failed: 0 };
    const listed: RowFailure[] = [];
    let listedBytes = 0;
    const list = (failure: RowFailure): void => {
      if (listedBytes >= MAX_LISTED_BYTES) return;
      listedBytes += JSON.stringify(failure).length;
      listed.push(failure);
    };
    /** Also records the start, in case the process ends during the import. Dry runs are not recorded. */
    const audit = async (phase: "started" | "finished" | "stopped"): Promise<void> => {
      if (dryRun) return;
      const { format, dates, agent, contractor, fileName } = request;
      await recordAuditEvent(this.#deps.database, {
        action: `import.${phase}`,
        ...context,
        organizationId: importer?.organizationId ?? null,
        subject: fileName,
        details: { format, dates, agent, contractor, ...(phase !== "started" && counts) },
      });
    };
    let hasBegun = false;
    let abortError: unknown = null;
    try {
      const rows = readRows(chunks, request);
      for await (const chunk of importJobs(this.#deps, rows, { ...request, importer, actor, requestId })) {
        for (const name of rowOutcomes) counts[name] += chunk.counts[name];
        for (const failure of chunk.failures) list(failure);
        // Recorded after the first chunk, because a file that is rejected as a whole is not an import.
        const isFirst = !hasBegun;
        hasBegun = true;
        if (isFirst) await audit("started");
        yield { type: "progress", counts: { ...counts }, failures: chunk.failures };
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
    const failuresOmitted = counts.failed - listed.length;
    yield { type: "report", dryRun, counts, failures: listed, failuresOmitted, error: abortError };
  }
}

/**
 * Imports `rows` in order and yields a report after each committed chunk. A repeated Marking Number is applied again. Throws if
 * a default organisation does not exist or has the wrong type. If the import fails, the reported chunks stay; importing the
 * same file again is safe.
 */
export async function* importJobs(
  deps: ImportDeps,
  rows: AsyncIterable<ImportRow>,
  options: ImportOptions & ChangeContext,
): AsyncGenerator<ImportChunkReport> {
  const { organizations, referenceData } = deps;
  const { importer = null } = options;
  const find = importer ? partnersOfAgent(deps, importer) : organizations.get.bind(organizations);
  const defaultId = async (type: OrganizationType): Promise<string | undefined> => {
    const reference = options[type];
    return reference === undefined ? undefined : (await find(reference, type)).id;
  };
  const defaults = {
    agent: (await defaultId("agent")) ?? importer?.organizationId,
    contractor: await defaultId("contractor"),
  };
  const resolveOrganization = createOrganizationResolver(find);
  for await (const chunk of inChunks(rows)) {
    // Reads the statuses once per chunk, so that unknown codes do not cause a query per row.
    const knownCodes = new Set((await referenceData.statuses()).map(({ code }) => code));
    const isKnownStatus = (code: string): Promise<boolean> => Promise.resolve(knownCodes.has(code));
    const canSetProviderStatus = importer === null;
    const context = {
      referenceData: { isKnownStatus },
      resolveOrganization,
      defaults,
      canSetProviderStatus,
    };
    yield await importChunk(deps, context, { chunk, options });
  }
}

async function* inChunks<Row>(rows: AsyncIterable<Row>): AsyncGenerator<Row[]> {
  let chunk: Row[] = [];
  for await (const row of rows) {
    chunk.push(row);
    if (chunk.length < CHUNK_SIZE) continue;
    yield chunk;
    chunk = [];
  }
  if (chunk.length > 0) yield chunk;
}

async function importChunk(
  deps: ImportDeps,
  context: RowValidationContext,
  { chunk, options }: { chunk: readonly ImportRow[]; options: ImportOptions & ChangeContext },
): Promise<ImportChunkReport> {
  const validated: ValidatedRow[] = [];
  for (const row of chunk) validated.push(await validateRow(context, row));
  const upserts = validated.flatMap((row) => ("upsert" in row ? [row.upsert] : []));
  const outcomes = await deps.database.transaction(
    (tx) => applyInBatches(tx, upserts, (on, batch) => upsertRows(on, batch, options)),
    options.dryRun ? "rollback" : "commit",
  );
  if (!options.dryRun) notifyChanges(deps, outcomes);
  return toChunkReport(chunk, validated, outcomes);
}

function toChunkReport(
  chunk: readonly ImportRow[],
  validated: readonly ValidatedRow[],
  outcomes: readonly UpsertOutcome[],
): ImportChunkReport {
  const counts: ImportCounts = { created: 0, updated: 0, unchanged: 0, failed: 0 };
  const failures: RowFailure[] = [];
  const remaining = outcomes.values();
  for (const [index, row] of chunk.entries()) {
    const checked = validated[index] as ValidatedRow;
    const result = "upsert" in checked ? toRowResult(remaining.next().value) : checked.problems;
    if (typeof result === "string") {
      counts[result] += 1;
      continue;
    }
    counts.failed += 1;
    const number = "values" in row ? row.values["marking_number"] : null;
    const markingNumber = typeof number === "string" ? number : null;
    failures.push({ line: row.line, markingNumber, problems: result, cells: row.cells });
  }
  return { counts, failures };
}

function toRowResult(outcome: UpsertOutcome | undefined): "created" | "updated" | "unchanged" | RowProblem[] {
  invariant(outcome, "a valid row has an outcome");
  if (outcome.kind === "already_exists")
    return [{ field: "marking_number", message: "belongs to a job of another agent" }];
  if (outcome.kind !== "agent_missing") return outcome.kind;
  const message = "is missing: no job has this Marking Number, and a new job needs an agent";
  return [{ field: "agent", message }];
}
