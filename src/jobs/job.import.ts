/** Importing jobs: rows become jobs in chunks, each its own transaction, with a report of every row that did not. */
import type { OrganizationService } from "../organizations/organization.service.ts";
import type { Database } from "../platform/database.ts";
import { invariant } from "../platform/errors.ts";
import type { ChangeContext } from "../platform/principal.ts";
import { sql } from "../platform/sql.ts";
import type { JobCodes } from "./job.codes.ts";
import { checkRow, OrganizationReferences, type CheckedRow, type RowChecks } from "./job.import.check.ts";
import type { ImportRow, RowProblem } from "./job.import.rows.ts";
import { applyInRounds, type Refused } from "./job.rounds.ts";
import { upsertRows, type UpsertOutcome } from "./job.upsert.ts";

export interface ImportServices {
  database: Database;
  codes: JobCodes;
  organizations: OrganizationService;
  /** Called once changes are committed: webhooks may have to be told of them. */
  announce: () => void;
  /** Called then, too, with the uuids of the organisations that see the changed jobs. */
  happened: (organizationIds: readonly string[]) => void;
}

export interface ImportOptions extends ChangeContext {
  /**
   * Validate and count as if done, and change nothing. Chunks are undone one by one, since one long transaction would
   * lock the jobs and hold back the feed; so a Marking Number that comes again in a later chunk is counted anew.
   */
  dryRun: boolean;
  /** Organisations, by id or exact name, for the rows that name none. */
  agent?: string | undefined;
  contractor?: string | undefined;
}

export interface RowFailure {
  line: number;
  /** Null where the row could not be read, or has none. */
  markingNumber: string | null;
  problems: readonly RowProblem[];
}

export interface ImportCounts {
  created: number;
  updated: number;
  unchanged: number;
  failed: number;
}

export interface ImportReport {
  counts: ImportCounts;
  failures: RowFailure[];
}

const AGENT_NEEDED = "is missing: no job has this Marking Number, and a new job needs an agent";
/** What one statement handles well. It bounds the memory, too. */
const CHUNK = 1_000;

type Outcome = UpsertOutcome | Refused;

/**
 * Imports `rows` in their order and reports after each chunk, once it is committed. The same Marking Number may come
 * again: it is applied again. Throws where `options` name an organisation that is not there or of the other type. When it
 * fails halfway, the chunks reported stay; importing the same file again finds them unchanged.
 */
export async function* importJobs(
  services: ImportServices,
  rows: AsyncIterable<ImportRow>,
  options: ImportOptions,
): AsyncGenerator<ImportReport> {
  const { organizations } = services;
  const standIns = {
    agentId: options.agent === undefined ? undefined : (await organizations.get(options.agent, "agent")).id,
    contractorId:
      options.contractor === undefined
        ? undefined
        : (await organizations.get(options.contractor, "contractor")).id,
  };
  const references = new OrganizationReferences(organizations);
  for await (const chunk of chunksOf(rows)) {
    yield await importChunk(
      services,
      { codes: await codesNow(services.codes), references, standIns },
      { chunk, options },
    );
  }
}

async function* chunksOf<Row>(rows: AsyncIterable<Row>): AsyncGenerator<Row[]> {
  let chunk: Row[] = [];
  for await (const row of rows) {
    chunk.push(row);
    if (chunk.length < CHUNK) continue;
    yield chunk;
    chunk = [];
  }
  if (chunk.length > 0) yield chunk;
}

/** The statuses of this moment: an unknown code in every row would be looked up for every row. */
async function codesNow(codes: JobCodes): Promise<JobCodes> {
  const known = new Set((await codes.statuses()).map(({ code }) => code));
  return { ...codes, isKnownStatus: (code) => Promise.resolve(known.has(code)) };
}

async function importChunk(
  { database, announce, happened }: ImportServices,
  checks: RowChecks,
  { chunk, options }: { chunk: readonly ImportRow[]; options: ImportOptions },
): Promise<ImportReport> {
  const checked: CheckedRow[] = [];
  for (const row of chunk) checked.push(await checkRow(checks, row));
  const upserts = checked.flatMap((row) => ("upsert" in row ? [row.upsert] : []));
  const outcomes =
    upserts.length === 0
      ? []
      : await database.transaction(
          (tx) =>
            applyInRounds(upserts, {
              apply: (round) => upsertRows(tx, round, options),
              tx,
              lockable: sql`true`,
            }),
          options.dryRun ? "rollback" : "commit",
        );
  if (upserts.length > 0 && !options.dryRun) {
    announce();
    const seers = seersOf(outcomes);
    if (seers.length > 0) happened(seers);
  }
  return reportOf(chunk, checked, outcomes);
}

/** The organisations that see what changed. */
function seersOf(outcomes: readonly Outcome[]): string[] {
  const seers = new Set<string>();
  for (const outcome of outcomes) {
    if (outcome.kind !== "created" && outcome.kind !== "updated") continue;
    if (outcome.agentId !== null) seers.add(outcome.agentId);
    if (outcome.contractorId !== null) seers.add(outcome.contractorId);
  }
  return [...seers];
}

function reportOf(
  chunk: readonly ImportRow[],
  checked: readonly CheckedRow[],
  outcomes: readonly Outcome[],
): ImportReport {
  const counts: ImportCounts = { created: 0, updated: 0, unchanged: 0, failed: 0 };
  const failures: RowFailure[] = [];
  const pending = outcomes.values();
  for (const [at, row] of checked.entries()) {
    const result = "upsert" in row ? resultOf(pending.next().value) : row.problems;
    if (typeof result === "string") {
      counts[result] += 1;
    } else {
      counts.failed += 1;
      const { line, markingNumber } = placeOf(chunk[at] as ImportRow);
      failures.push({ line, markingNumber, problems: result });
    }
  }
  return { counts, failures };
}

function resultOf(outcome: Outcome | undefined): "created" | "updated" | "unchanged" | RowProblem[] {
  invariant(outcome, "a sound row has an outcome");
  if (outcome.kind === "taken")
    return [{ field: "marking_number", message: "belongs to a job of another agent" }];
  if (outcome.kind === "agentless") return [{ field: "agent", message: AGENT_NEEDED }];
  if (outcome.kind !== "refused") return outcome.kind;
  return [{ field: null, message: `is refused by the database: ${outcome.reason}` }];
}

function placeOf(row: ImportRow): { line: number; markingNumber: string | null } {
  const markingNumber = "values" in row ? row.values["marking_number"] : null;
  return { line: row.line, markingNumber: typeof markingNumber === "string" ? markingNumber : null };
}
