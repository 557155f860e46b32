/** The counters behind the exact total of a list: written beside each change (`job.record.ts`), folded in the background. */
import type { Database, Queryable } from "../../platform/postgres/database.ts";
import { sql, type Sql } from "../../platform/postgres/sql.ts";

const createdDaySql = sql`(created_at at time zone 'UTC')::date::text`;

/**
 * Moves the recorded changes into the base counts, in one statement, so that base plus changes is exact before, during
 * and after. Answers how many changes were folded. Processes take turns; one that finds another at it does nothing.
 */
export async function compactCounters(database: Queryable): Promise<number> {
  const [row] = await database.query<{ folded: number }>(sql`
    with turn as materialized (select pg_try_advisory_xact_lock(hashtext('waymark.job_counter')) as mine),
    moved as (
      delete from job_counter_delta where (select mine from turn) and id in (select id from job_counter_delta limit 50000)
      returning organization_id, kind, value, change
    ), folded as (
      insert into job_counter (organization_id, kind, value, count)
      select organization_id, kind, value, sum(change) from moved group by 1, 2, 3 order by 1, 2, 3
      on conflict (organization_id, kind, value) do update set count = job_counter.count + excluded.count
    )
    select count(*)::int as folded from moved`);
  return row?.folded ?? 0;
}

/** Counts everything anew: after jobs were written past the job service (a bulk seed, a repair by hand). */
export async function rebuildCounters(database: Database): Promise<void> {
  await database.transaction(rebuildCountersIn);
}

/** The same in a transaction that has begun, on a connection that is given as long as it takes. */
export async function rebuildCountersIn(tx: Queryable): Promise<void> {
  await tx.query(sql`lock table job, job_counter, job_counter_delta in share row exclusive mode`);
  await tx.query(sql`delete from job_counter_delta`);
  await tx.query(sql`delete from job_counter`);
  await tx.query(sql`
    insert into job_counter (organization_id, kind, value, count)
    select organization_id, kind, value, count(*) from job, lateral (values
      (agent_id, 'status', normalized_status), (agent_id, 'created_day', ${createdDaySql}),
      (contractor_id, 'status', normalized_status), (contractor_id, 'created_day', ${createdDaySql})
    ) part (organization_id, kind, value)
    where organization_id is not null group by 1, 2, 3`);
}

/** An organisation's counts of one kind, base and changes: rows of (value, counted), to be summed up. */
export function counterRowsSql(organizationId: string, kind: "status" | "created_day"): Sql {
  return sql`
    select value, count as counted from job_counter where organization_id = ${organizationId} and kind = ${kind}
    union all select value, change from job_counter_delta where organization_id = ${organizationId} and kind = ${kind}`;
}
