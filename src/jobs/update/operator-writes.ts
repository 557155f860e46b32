/** Making jobs and giving them away, row by row: what became of each, with the job as it is then. */
import type { Transaction } from "../../platform/postgres/database.ts";
import type { ChangeContext } from "../../platform/principal.ts";
import { sql, type Sql } from "../../platform/postgres/sql.ts";
import type { BulkOutcome } from "./bulk.ts";
import { jobColumnsWithOwners, type JobRowWithOwners } from "../job.row.ts";
import { assignContractors, upsertRows, type Assignment, type JobUpsert } from "./upsert.sql.ts";

const columns = jobColumnsWithOwners("job.");

/** Makes jobs, each Marking Number at most once, and answers in their order. */
export async function createJobs(
  tx: Transaction,
  upserts: readonly JobUpsert[],
  context: ChangeContext,
): Promise<BulkOutcome[]> {
  const outcomes = await upsertRows(tx, upserts, { ...context, onlyNew: true });
  const created = upserts.filter((_, index) => outcomes[index]?.kind === "created");
  const jobs = await readJobs(tx, created, sql``);
  return upserts.map(({ markingNumber }) => {
    const job = jobs.get(markingNumber);
    return job ? { kind: "created", job, hasDeliveries: true } : { kind: "taken" };
  });
}

/** Assigns jobs that are there, each Marking Number at most once, and answers in their order. */
export async function assignJobs(
  tx: Transaction,
  assignments: readonly Assignment[],
  context: ChangeContext,
): Promise<BulkOutcome[]> {
  // Those that change hands and those that do not are locked alike, so that what is told of them stays true.
  const before = await readJobs(tx, assignments, sql`order by job.id for update`);
  const assigned = await assignContractors(tx, assignments, context);
  const after = await readJobs(
    tx,
    assignments.filter(({ markingNumber }) => assigned.has(markingNumber)),
    sql``,
  );
  return assignments.map(({ markingNumber }) => {
    const job = before.get(markingNumber);
    if (!job) return { kind: "not_found" };
    const changed = after.get(markingNumber);
    return changed ? { kind: "updated", job: changed, hasDeliveries: true } : { kind: "unchanged", job };
  });
}

async function readJobs(
  tx: Transaction,
  items: readonly { markingNumber: string }[],
  lock: Sql,
): Promise<Map<string, JobRowWithOwners>> {
  if (items.length === 0) return new Map();
  const rows = await tx.query<JobRowWithOwners>(sql`
    select ${columns} from job
    where marking_number = any(${items.map((item) => item.markingNumber)}::text[]) ${lock}`);
  return new Map(rows.map((row) => [row.marking_number, row]));
}
