/** The reference tables of statuses and failure reasons. Codes are data: operators add to them while the service runs. */
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
  statuses(on?: Queryable): Promise<JobStatusCode[]>;
  failureReasons(on?: Queryable): Promise<FailureReasonCode[]>;
  /** Known codes are remembered; an unknown one is looked up, since another process may have added it just now. */
  isKnownStatus(code: string, on?: Queryable): Promise<boolean>;
  /** Adds a status, at the end of their order, or changes one. Throws BadRequestException with every problem. */
  upsertStatus(operator: OperatorPrincipal, status: StatusSettings): Promise<JobStatusCode>;
}

export interface StatusSettings {
  /** Small letters, digits and `_`, a letter first. */
  code: string;
  label: string;
  category: string;
  isTerminal: boolean;
}

const statusSettingsSchema = z.object({
  code: z.string().regex(/^[a-z][a-z0-9_]{0,63}$/, {
    error: "must be 1 to 64 small letters, digits and _, a letter first",
  }),
  label: textValue(100).refine((label) => label.trim() !== "", { error: "must not be empty" }),
  category: z.enum(statusCategories, { error: `must be one of ${statusCategories.join(", ")}` }),
  isTerminal: z.boolean({ error: "must be true or false" }),
});

export function createJobReferenceData(database: Queryable): JobReferenceData {
  let knownCodes: ReadonlySet<string> = new Set();
  /** Per connection: a transaction that waited for a look-up on the pool could wait for its own connection. */
  const pending = new Map<Queryable, Promise<unknown>>();

  const statuses = async (on = database): Promise<JobStatusCode[]> => {
    const rows = await on.query<JobStatusCode>(
      sql`select code, label, category, is_terminal from job_status order by position, code`,
    );
    knownCodes = new Set(rows.map((row) => row.code));
    return rows;
  };

  /** Those who ask in one moment, as the items of a batch do, share one look-up, which begins after they have asked. */
  const refresh = (on: Queryable): Promise<unknown> => {
    const inFlight = pending.get(on);
    if (inFlight) return inFlight;
    const refreshing = Promise.resolve().then(() => {
      pending.delete(on);
      return statuses(on);
    });
    pending.set(on, refreshing);
    return refreshing;
  };

  return {
    statuses,
    failureReasons: (on = database) =>
      on.query<FailureReasonCode>(sql`
        select code, label, next_step, array_remove(array[
          case when applies_to_failed then 'failed' end, case when applies_to_on_hold then 'on_hold' end], null) as applies_to
        from failure_reason order by position, code`),
    async isKnownStatus(code, on = database) {
      if (knownCodes.has(code)) return true;
      await refresh(on);
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
      invariant(status, "what is inserted or updated is returned");
      return status;
    },
  };
}
