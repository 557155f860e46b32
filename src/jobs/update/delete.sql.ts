/** Deletes jobs. Only test jobs are deleted. */
import { uuidV7Sql } from "../../core/ids.ts";
import type { Queryable } from "../../core/postgres/database.ts";
import type { ChangeContext } from "../../core/principal.ts";
import { raw, sql } from "../../core/postgres/sql.ts";
import { insertTraced } from "../../core/tracing/tracing.ts";
import { countVisibilityChangeSql, insertEventsSql, removedJobSql } from "./update-and-fan-out.sql.ts";

/**
 * Deletes all jobs of a test agent (UUID) in one statement that also inserts `job.deleted`. Its test contractor receives the event of
 * each job: its copy may have one that was taken away. Locks the jobs in id order, as updates do. Returns the number of jobs.
 */
export async function deleteJobs(
  queryable: Queryable,
  { agent, contractor }: { agent: string; contractor: string },
  context: ChangeContext,
): Promise<number> {
  const visibilityChanges = raw(`
    select agent_id as organization_id, normalized_status as status, created_at, -1 as change from deleted
    union all select contractor_id, normalized_status, created_at, -1 from deleted`);
  const rows = await insertTraced(
    queryable,
    (traceparent) => sql`
    with target as materialized (
      select id from job where agent_id = ${agent}::uuid order by id for update
    ), deleted as (
      delete from job using target where job.id = target.id returning job.*, job as new
    ), ${insertEventsSql(
      sql`select ${uuidV7Sql} as event_id, 'job.deleted' as type, id as job_id, agent_id, ${contractor}::uuid as contractor_id,
        next_version(version) as version, clock_timestamp() as updated_at, ${removedJobSql} as job, '{}'::jsonb as changes
        from deleted`,
      { ...context, traceparent },
    )}, counter_deltas as (${countVisibilityChangeSql(visibilityChanges)})
    select id from deleted`,
  );
  return rows.length;
}
