/** Imports rows as jobs in chunks of 1,000, one transaction each, and reports every failed row. */
import type { OrganizationService } from "../../organizations/api.ts";
import type { Database } from "../../core/postgres/database.ts";
import { invariant } from "../../core/errors.ts";
import { systemPrincipal, type ChangeContext, type OrganizationType } from "../../core/principal.ts";
import type { JobReferenceData } from "../reference-data.ts";
import {
  validateRow,
  createOrganizationResolver,
  type ValidatedRow,
  type RowValidationContext,
} from "./import-validation.ts";
import type { ImportRow, RowProblem } from "./import-rows.ts";
import { applyInBatches, type DataRejected } from "../update/batches.ts";
import { notifyChanges, type ChangeListeners } from "../update/notify.ts";
import { upsertRows, type UpsertOutcome } from "../update/upsert.sql.ts";

export interface ImportDeps extends ChangeListeners {
  database: Database;
  referenceData: JobReferenceData;
  organizations: OrganizationService;
}

export interface ImportOptions {
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
  options: ImportOptions & ChangeContext,
): AsyncGenerator<ImportChunkReport> {
  const { organizations, referenceData } = deps;
  const defaultId = async (type: OrganizationType): Promise<string | undefined> => {
    const reference = options[type];
    return reference === undefined ? undefined : (await organizations.get(reference, type)).id;
  };
  const defaults = { agent: await defaultId("agent"), contractor: await defaultId("contractor") };
  const resolveOrganization = createOrganizationResolver(organizations);
  for await (const chunk of inChunks(rows)) {
    // Reads the statuses once per chunk, so that unknown codes do not cause a query per row.
    const knownCodes = new Set((await referenceData.statuses()).map(({ code }) => code));
    const isKnownStatus = (code: string): Promise<boolean> => Promise.resolve(knownCodes.has(code));
    const context = { referenceData: { isKnownStatus }, resolveOrganization, defaults };
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
  const outcomes =
    upserts.length === 0
      ? []
      : await deps.database.transaction(
          (tx) =>
            applyInBatches(tx, upserts, {
              apply: (on, batch) => upsertRows(on, batch, options),
              lockingAs: systemPrincipal,
            }),
          options.dryRun ? "rollback" : "commit",
        );
  if (!options.dryRun) notifyChanges(deps, outcomes);
  return toChunkReport(chunk, validated, outcomes);
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
  return [{ field: null, message: `was rejected by the database: ${outcome.error.message}` }];
}

function locationOf(row: ImportRow): { line: number; markingNumber: string | null } {
  const markingNumber = "values" in row ? row.values["marking_number"] : null;
  return { line: row.line, markingNumber: typeof markingNumber === "string" ? markingNumber : null };
}
