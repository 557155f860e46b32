/** The reference tables of statuses and failure reasons. Codes are data: operators add to them while the service runs. */
import type { Queryable } from "../platform/database.ts";
import { sql } from "../platform/sql.ts";

export interface JobStatusCode {
  code: string;
  label: string;
  category: string;
  is_terminal: boolean;
}

export interface FailureReasonCode {
  code: string;
  label: string;
  applies_to: ("failed" | "on_hold")[];
  next_step: "retry" | "action" | "return";
}

export interface JobCodes {
  statuses(): Promise<JobStatusCode[]>;
  failureReasons(): Promise<FailureReasonCode[]>;
  /** Known codes are remembered; an unknown one is looked up, since another process may have added it just now. */
  isKnownStatus(code: string): Promise<boolean>;
}

export function createJobCodes(database: Queryable): JobCodes {
  let known: ReadonlySet<string> = new Set();
  let asking: Promise<unknown> | null = null;

  const statuses = async (): Promise<JobStatusCode[]> => {
    const rows = await database.query<JobStatusCode>(
      sql`select code, label, category, is_terminal from job_status order by position, code`,
    );
    known = new Set(rows.map((row) => row.code));
    return rows;
  };

  /** Those who ask in one moment, as the items of a batch do, share one look-up, which begins after they have asked. */
  const lookUp = (): Promise<unknown> =>
    (asking ??= Promise.resolve().then(() => {
      asking = null;
      return statuses();
    }));

  return {
    statuses,
    failureReasons: () =>
      database.query<FailureReasonCode>(sql`
        select code, label, next_step, array_remove(array[
          case when applies_to_failed then 'failed' end, case when applies_to_on_hold then 'on_hold' end], null) as applies_to
        from failure_reason order by position, code`),
    async isKnownStatus(code) {
      if (known.has(code)) return true;
      await lookUp();
      return known.has(code);
    },
  };
}
