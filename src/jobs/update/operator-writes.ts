/** Creates and assigns jobs for operators. Returns the outcome for each item with the job after the change. */
import type { Transaction } from "../../platform/postgres/database.ts";
import type { ChangeContext } from "../../platform/principal.ts";
import { sql, type Sql } from "../../platform/postgres/sql.ts";
import type { BulkOutcome } from "./bulk.ts";
import { jobColumnsWithOwners, type JobRowWithOwners } from "../job.row.ts";
import { assignContractors, upsertRows, type Assignment, type JobUpsert } from "./upsert.sql.ts";

const columns = jobColumnsWithOwners("job.");

/** Creates jobs. Marking Numbers must be distinct. Returns the outcomes in order. */
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
    return job ? { kind: "created", job, hasDeliveries: true } : { kind: "already_exists" };
  });
}

/** Assigns existing jobs. Marking Numbers must be distinct. Returns the outcomes in order. */
export async function assignJobs(
  tx: Transaction,
  assignments: readonly Assignment[],
  context: ChangeContext,
): Promise<BulkOutcome[]> {
  // Locks all of them, so that the jobs returned as unchanged cannot change before the commit.
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
