/** The counters behind the exact total of a list: written beside each change (`job.record.ts`), folded in the background. */
import type { Database, Queryable } from "../platform/database.ts";
import { sql, type Sql } from "../platform/sql.ts";

const createdDay = sql`(created_at at time zone 'UTC')::date::text`;

/**
 * Moves the recorded changes into the base counts, in one statement, so that base plus changes is exact before, during
 * and after. Answers how many changes were folded. Processes take turns; one that finds another at it does nothing.
 */
export async function foldCounts(database: Queryable): Promise<number> {
  const [row] = await database.query<{ folded: number }>(sql`
    with turn as materialized (select pg_try_advisory_xact_lock(hashtext('waymark.job_count')) as mine),
    moved as (
      delete from job_count_change where (select mine from turn) and id in (select id from job_count_change limit 50000)
      returning organization_id, kind, value, change
    ), folded as (
      insert into job_count (organization_id, kind, value, count)
      select organization_id, kind, value, sum(change) from moved group by 1, 2, 3 order by 1, 2, 3
      on conflict (organization_id, kind, value) do update set count = job_count.count + excluded.count
    )
    select count(*)::int as folded from moved`);
  return row?.folded ?? 0;
}

/** Counts everything anew: after jobs were written past the job service (a bulk seed, a repair by hand). */
export async function recount(database: Database): Promise<void> {
  await database.transaction(recountIn);
}

/** The same in a transaction that has begun, on a connection that is given as long as it takes. */
export async function recountIn(tx: Queryable): Promise<void> {
  await tx.query(sql`lock table job, job_count, job_count_change in share row exclusive mode`);
  await tx.query(sql`delete from job_count_change`);
  await tx.query(sql`delete from job_count`);
  await tx.query(sql`
    insert into job_count (organization_id, kind, value, count)
    select organization_id, kind, value, count(*) from job, lateral (values
      (agent_id, 'status', normalized_status), (agent_id, 'created_day', ${createdDay}),
      (contractor_id, 'status', normalized_status), (contractor_id, 'created_day', ${createdDay})
    ) part (organization_id, kind, value)
    where organization_id is not null group by 1, 2, 3`);
}

/** An organisation's counts of one kind, base and changes: rows of (value, counted), to be summed up. */
export function countsOf(organizationId: string, kind: "status" | "created_day"): Sql {
  return sql`
    select value, count as counted from job_count where organization_id = ${organizationId} and kind = ${kind}
    union all select value, change from job_count_change where organization_id = ${organizationId} and kind = ${kind}`;
}
