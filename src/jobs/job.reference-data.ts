/** Reads and writes the reference tables of statuses and failure reasons. Operators can add codes at runtime. */
import { z } from "zod";
import type { Queryable } from "../platform/postgres/database.ts";
import { badRequest, invariant } from "../platform/errors.ts";
import type { OperatorPrincipal } from "../platform/principal.ts";
import { toProblems } from "../platform/zod-problems.ts";
import { sql } from "../platform/postgres/sql.ts";
import { statusCategories } from "./job.reference-data.entity.ts";
import { textValue } from "./job.values.ts";

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

export interface JobReferenceData {
  statuses(queryable?: Queryable): Promise<JobStatusCode[]>;
  failureReasons(queryable?: Queryable): Promise<FailureReasonCode[]>;
  /** Caches known codes. Queries the table for an unknown one, because another process may have just added it. */
  isKnownStatus(code: string, queryable?: Queryable): Promise<boolean>;
  /** Appends a status to the list or changes an existing one. Throws BadRequestException listing every problem. */
  upsertStatus(operator: OperatorPrincipal, status: StatusSettings): Promise<JobStatusCode>;
}

export interface StatusSettings {
  /** 1 to 64 lower-case letters, digits and `_`, starting with a letter. */
  code: string;
  label: string;
  category: string;
  isTerminal: boolean;
}

const statusSettingsSchema = z.object({
  code: z.string().regex(/^[a-z][a-z0-9_]{0,63}$/, {
    error: "must be 1 to 64 lower-case letters, digits and _, starting with a letter",
  }),
  label: textValue(100).refine((label) => label.trim() !== "", { error: "must not be empty" }),
  category: z.enum(statusCategories, { error: `must be one of ${statusCategories.join(", ")}` }),
  isTerminal: z.boolean({ error: "must be true or false" }),
});

export function createJobReferenceData(database: Queryable): JobReferenceData {
  let knownCodes: ReadonlySet<string> = new Set();
  /** One per connection: a transaction that waited for a query on the pool could wait for its own connection. */
  const pending = new Map<Queryable, Promise<unknown>>();

  const statuses = async (queryable = database): Promise<JobStatusCode[]> => {
    const rows = await queryable.query<JobStatusCode>(
      sql`select code, label, category, is_terminal from job_status order by position, code`,
    );
    knownCodes = new Set(rows.map((row) => row.code));
    return rows;
  };

  /** Calls made in the same tick, such as those of a batch, share one query. It starts after the last of them. */
  const refresh = (queryable: Queryable): Promise<unknown> => {
    const inFlight = pending.get(queryable);
    if (inFlight) return inFlight;
    const refreshing = Promise.resolve().then(() => {
      pending.delete(queryable);
      return statuses(queryable);
    });
    pending.set(queryable, refreshing);
    return refreshing;
  };

  return {
    statuses,
    failureReasons: (queryable = database) =>
      queryable.query<FailureReasonCode>(sql`
        select code, label, next_step, array_remove(array[
          case when applies_to_failed then 'failed' end, case when applies_to_on_hold then 'on_hold' end], null) as applies_to
        from failure_reason order by position, code`),
    async isKnownStatus(code, queryable = database) {
      if (knownCodes.has(code)) return true;
      await refresh(queryable);
      return knownCodes.has(code);
    },
    async upsertStatus(_operator, settings) {
      const checked = statusSettingsSchema.safeParse(settings);
      if (!checked.success) throw badRequest(toProblems(checked.error, "body"));
      const { code, label, category, isTerminal } = checked.data;
      const [status] = await database.query<JobStatusCode>(sql`
        insert into job_status (code, label, category, is_terminal, position)
        select ${code}, ${label}, ${category}, ${isTerminal}, coalesce(max(position) + 1, 0) from job_status
        on conflict (code) do update
          set label = excluded.label, category = excluded.category, is_terminal = excluded.is_terminal
        returning code, label, category, is_terminal`);
      invariant(status, "the upsert returns the status");
      return status;
    },
  };
}
