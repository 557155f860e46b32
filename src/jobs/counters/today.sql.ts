/** The jobs due today and the late jobs, in total and by contractor, in one statement. */
import type { Queryable } from "../../core/postgres/database.ts";
import { invariant } from "../../core/errors.ts";
import type { Principal } from "../../core/principal.ts";
import { raw, sql } from "../../core/postgres/sql.ts";
import { dueDateSql, lateSql, todaySql } from "../list/filter.sql.ts";
import { visibleTo } from "../visibility.sql.ts";

export interface TodayCounts {
  /** Due today, with any status. The next three are parts of it. */
  due: number;
  /** Open or in progress. */
  toDo: number;
  done: number;
  /** Failed, on hold, or in another status that needs attention. */
  attention: number;
  /** Due before today and not finished. */
  late: number;
}

export interface ContractorToday extends TodayCounts {
  /** Null: the jobs without a contractor. */
  contractorId: string | null;
  contractorName: string | null;
}

export interface JobsToday {
  /** Today in the principal's time zone, as `YYYY-MM-DD`. */
  day: string;
  total: TodayCounts;
  /** Those with such jobs: first the jobs without a contractor, then the contractors with most jobs, at most 100. */
  contractors: ContractorToday[];
}

type Row = ContractorToday & { day: string };

/** Reads all jobs that the principal sees: no index has the days on which jobs are due (docs/decisions/0091). */
export async function jobsToday(queryable: Queryable, principal: Principal): Promise<JobsToday> {
  const zone = principal.timeZone ?? "UTC";
  const [total, ...contractors] = await queryable.query<Row>(sql`
    with seen as (
      select job.contractor_id, job_status.category, ${raw(dueDateSql)} = ${todaySql(zone)} as is_due, ${lateSql(zone)} as is_late
      from job join job_status on job_status.code = job.normalized_status
      where ${visibleTo(principal)} and ${raw(dueDateSql)} <= ${todaySql(zone)}
    ), counted as (
      select contractor_id, grouping(contractor_id) as is_total,
        count(*) filter (where is_due)::int as due,
        count(*) filter (where is_due and category in ('open', 'in_progress'))::int as "toDo",
        count(*) filter (where is_due and category = 'success')::int as done,
        count(*) filter (where is_due and category = 'attention')::int as attention,
        count(*) filter (where is_late)::int as late
      from seen where is_due or is_late group by grouping sets ((), (contractor_id))
    )
    select ${todaySql(zone)}::text as day, contractor_id as "contractorId",
      (select name from organization where id = contractor_id) as "contractorName", due, "toDo", done, attention, late
    from counted order by is_total desc, contractor_id is not null, due + late desc, contractor_id limit 101`);
  invariant(total, "the empty grouping set has a row");
  return { day: total.day, total, contractors };
}
