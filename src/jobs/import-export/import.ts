/** Imports rows as jobs in chunks of 1,000, one transaction each, and reports every failed row. */
import type { OrganizationService } from "../../organizations/api.ts";
import type { Database } from "../../platform/postgres/database.ts";
import { invariant } from "../../platform/errors.ts";
import type { ChangeContext } from "../../platform/principal.ts";
import { sql } from "../../platform/postgres/sql.ts";
import type { JobReferenceData } from "../job.reference-data.ts";
import {
  validateRow,
  OrganizationResolver,
  type ValidatedRow,
  type RowValidationContext,
} from "./import-validation.ts";
import type { ImportRow, RowProblem } from "./import-rows.ts";
import { applyInBatches, type DataRejected } from "../update/batches.ts";
import { upsertRows, type UpsertOutcome } from "../update/upsert.sql.ts";

export interface ImportDeps {
  database: Database;
  referenceData: JobReferenceData;
  organizations: OrganizationService;
  /** Called after a commit that may have created webhook deliveries. */
  notifyWorkers: () => void;
  /** Called after a commit with the ids (UUIDs) of the organisations that can see the changed jobs. */
  notifySubscribers: (organizationIds: readonly string[]) => void;
}

export interface ImportOptions extends ChangeContext {
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
}

export interface ImportCounts {
  created: number;
  updated: number;
  unchanged: number;
  failed: number;
}

export interface ImportChunkReport {
  counts: ImportCounts;
  failures: RowFailure[];
}

const AGENT_REQUIRED = "is missing: no job has this Marking Number, and a new job needs an agent";
/** Rows per statement and transaction. It also bounds the memory. */
const CHUNK_SIZE = 1_000;

type RowOutcome = UpsertOutcome | DataRejected;

/**
 * Imports `rows` in order and yields a report after each committed chunk. A repeated Marking Number is applied again. Throws if
 * a default organisation does not exist or has the wrong type. If the import fails, the reported chunks stay; importing the
 * same file again is safe.
 */
export async function* importJobs(
  deps: ImportDeps,
  rows: AsyncIterable<ImportRow>,
  options: ImportOptions,
): AsyncGenerator<ImportChunkReport> {
  const { organizations } = deps;
  const defaults = {
    agentId: options.agent === undefined ? undefined : (await organizations.get(options.agent, "agent")).id,
    contractorId:
      options.contractor === undefined
        ? undefined
        : (await organizations.get(options.contractor, "contractor")).id,
  };
  const resolver = new OrganizationResolver(organizations);
  for await (const chunk of inChunks(rows)) {
    yield await importChunk(
      deps,
      { referenceData: await snapshotReferenceData(deps.referenceData), organizations: resolver, defaults },
      { chunk, options },
    );
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

/** Reads the statuses once per chunk, so that unknown codes do not cause a query per row. */
async function snapshotReferenceData(referenceData: JobReferenceData): Promise<JobReferenceData> {
  const knownCodes = new Set((await referenceData.statuses()).map(({ code }) => code));
  return { ...referenceData, isKnownStatus: (code) => Promise.resolve(knownCodes.has(code)) };
}

async function importChunk(
  { database, notifyWorkers, notifySubscribers }: ImportDeps,
  context: RowValidationContext,
  { chunk, options }: { chunk: readonly ImportRow[]; options: ImportOptions },
): Promise<ImportChunkReport> {
  const validated: ValidatedRow[] = [];
  for (const row of chunk) validated.push(await validateRow(context, row));
  const upserts = validated.flatMap((row) => ("upsert" in row ? [row.upsert] : []));
  const outcomes =
    upserts.length === 0
      ? []
      : await database.transaction(
          (tx) =>
            applyInBatches(upserts, {
              apply: (batch) => upsertRows(tx, batch, options),
              tx,
              lockFilter: sql`true`,
            }),
          options.dryRun ? "rollback" : "commit",
        );
  if (upserts.length > 0 && !options.dryRun) {
    notifyWorkers();
    const organizationIds = affectedOrganizationIds(outcomes);
    if (organizationIds.length > 0) notifySubscribers(organizationIds);
  }
  return toChunkReport(chunk, validated, outcomes);
}

/** The organisations that can see the changed jobs. */
function affectedOrganizationIds(outcomes: readonly RowOutcome[]): string[] {
  const organizationIds = new Set<string>();
  for (const outcome of outcomes) {
    if (outcome.kind !== "created" && outcome.kind !== "updated") continue;
    if (outcome.agentId !== null) organizationIds.add(outcome.agentId);
    if (outcome.contractorId !== null) organizationIds.add(outcome.contractorId);
  }
  return [...organizationIds];
}

function toChunkReport(
  chunk: readonly ImportRow[],
  validated: readonly ValidatedRow[],
  outcomes: readonly RowOutcome[],
): ImportChunkReport {
  const counts: ImportCounts = { created: 0, updated: 0, unchanged: 0, failed: 0 };
  const failures: RowFailure[] = [];
  const remaining = outcomes.values();
  for (const [index, row] of validated.entries()) {
    const result = "upsert" in row ? toRowResult(remaining.next().value) : row.problems;
    if (typeof result === "string") {
      counts[result] += 1;
    } else {
      counts.failed += 1;
      const { line, markingNumber } = locationOf(chunk[index] as ImportRow);
      failures.push({ line, markingNumber, problems: result });
    }
  }
  return { counts, failures };
}

function toRowResult(outcome: RowOutcome | undefined): "created" | "updated" | "unchanged" | RowProblem[] {
  invariant(outcome, "a valid row has an outcome");
  if (outcome.kind === "already_exists")
    return [{ field: "marking_number", message: "belongs to a job of another agent" }];
  if (outcome.kind === "agent_missing") return [{ field: "agent", message: AGENT_REQUIRED }];
  if (outcome.kind !== "rejected") return outcome.kind;
  return [{ field: null, message: `was rejected by the database: ${outcome.reason}` }];
}

function locationOf(row: ImportRow): { line: number; markingNumber: string | null } {
  const markingNumber = "values" in row ? row.values["marking_number"] : null;
  return { line: row.line, markingNumber: typeof markingNumber === "string" ? markingNumber : null };
}
