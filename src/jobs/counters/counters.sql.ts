/** Counters for the exact total of a list. Each change appends deltas (`update/update-and-fan-out.sql.ts`); a task compacts them. */
import type { Queryable } from "../../core/postgres/database.ts";
import { sql, type Sql } from "../../core/postgres/sql.ts";

const createdDaySql = sql`(created_at at time zone 'UTC')::date::text`;

/**
 * Adds up to 50,000 deltas to the base counts in one statement, so that the sum of both is always exact. Returns the number
 * of compacted deltas: 0 if another process is compacting at the moment.
 */
export async function compactCounters(database: Queryable): Promise<number> {
  const [row] = await database.query<{ compacted: number }>(sql`
    with advisory_lock as materialized (select pg_try_advisory_xact_lock(hashtext('waymark.job_counter')) as acquired),
    deltas as (
      delete from job_counter_delta
      where (select acquired from advisory_lock) and id in (select id from job_counter_delta limit 50000)
      returning organization_id, kind, value, change
    ), merged as (
      insert into job_counter (organization_id, kind, value, count)
      select organization_id, kind, value, sum(change) from deltas group by 1, 2, 3 order by 1, 2, 3
      on conflict (organization_id, kind, value) do update set count = job_counter.count + excluded.count
    )
    select count(*)::int as compacted from deltas`);
  return row?.compacted ?? 0;
}

/**
 * Recounts everything in the caller's transaction, which needs a statement timeout that fits the number of jobs. For jobs
 * that were written without the job service, such as by a bulk seed.
 */
export async function rebuildCounters(tx: Queryable): Promise<void> {
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

/** Rows of (value, counted): an organisation's base counts and deltas of one kind. Sum them per value. */
export function counterRowsSql(organizationId: string, kind: "status" | "created_day"): Sql {
  return sql`
    select value, count as counted from job_counter where organization_id = ${organizationId} and kind = ${kind}
    union all select value, change from job_counter_delta where organization_id = ${organizationId} and kind = ${kind}`;
}
