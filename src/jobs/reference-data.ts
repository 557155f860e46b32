/** Reads and writes the reference tables of statuses and failure reasons. Operators can add codes at runtime. */
import type { InferEntity } from "@mikro-orm/postgresql";
import { z } from "zod";
import type { Database, Reader } from "../core/postgres/database.ts";
import { extensibleEnum } from "../operations/schemas.ts";
import { knownFailureReasons, knownStatuses } from "./known-codes.ts";
import { FailureReason, JobStatus, statusCategories } from "./reference-data.entity.ts";
import { textValue } from "./values.ts";

export const statusView = z
  .object({
    code: z.string().meta({ ...knownStatuses, examples: ["failed"] }),
    label: z.string().meta({ examples: ["Delivery failed"] }),
    category: extensibleEnum(statusCategories, "Group of the status").meta({ examples: ["attention"] }),
    isTerminal: z.boolean().meta({ description: "Whether this is usually the final status of a job" }),
  })
  .meta({ id: "Status" });
export type JobStatusCode = z.output<typeof statusView>;

export const failureReasonView = z
  .object({
    code: z.string().meta({ ...knownFailureReasons, examples: ["wrong_incomplete_address"] }),
    label: z.string().meta({ examples: ["Wrong or incomplete address"] }),
    appliesTo: z
      .array(extensibleEnum(["failed", "on_hold"], "A status code"))
      .meta({ description: "Statuses that it applies to" }),
    nextStep: extensibleEnum(["retry", "action", "return"], "Usual next step"),
  })
  .meta({ id: "FailureReason" });
export type FailureReasonCode = z.output<typeof failureReasonView>;

export type JobReferenceData = ReturnType<typeof createJobReferenceData>;

export const statusSettings = z.object({
  code: z.string().regex(/^[a-z][a-z0-9_]{0,63}$/, {
    error: "must be 1 to 64 lower-case letters, digits and _, starting with a letter",
  }),
  label: textValue(100).refine((label) => label.trim() !== "", { error: "must not be empty" }),
  category: z.enum(statusCategories, { error: `must be one of ${statusCategories.join(", ")}` }),
  isTerminal: z.boolean({ error: "must be true or false" }),
});

const ORDER = { position: "asc", code: "asc" } as const;

function toStatusCode({ code, label, category, isTerminal }: InferEntity<typeof JobStatus>): JobStatusCode {
  return { code, label, category, isTerminal };
}

function toFailureReasonCode(reason: InferEntity<typeof FailureReason>): FailureReasonCode {
  const { code, label, nextStep, appliesToFailed, appliesToOnHold } = reason;
  const appliesTo: FailureReasonCode["appliesTo"] = [];
  if (appliesToFailed) appliesTo.push("failed");
  if (appliesToOnHold) appliesTo.push("on_hold");
  return { code, label, nextStep, appliesTo };
}

export function createJobReferenceData(database: Database) {
  let knownCodes: ReadonlySet<string> = new Set();
  /** One per connection: a transaction that waited for a query on the pool could wait for its own connection. */
  const pending = new Map<Reader, Promise<unknown>>();

  const statuses = async (reader: Reader = database): Promise<JobStatusCode[]> => {
    const found = await reader.em().find(JobStatus, {}, { orderBy: ORDER, disableIdentityMap: true });
    knownCodes = new Set(found.map(({ code }) => code));
    return found.map(toStatusCode);
  };

  /** Calls made in the same tick, such as those of a batch, share one query. It starts after the last of them. */
  const refresh = (reader: Reader): Promise<unknown> => {
    const inFlight = pending.get(reader);
    if (inFlight) return inFlight;
    const refreshing = Promise.resolve().then(() => {
      pending.delete(reader);
      return statuses(reader);
    });
    pending.set(reader, refreshing);
    return refreshing;
  };

  return {
    statuses,
    async failureReasons(reader: Reader = database): Promise<FailureReasonCode[]> {
      const found = await reader.em().find(FailureReason, {}, { orderBy: ORDER, disableIdentityMap: true });
      return found.map(toFailureReasonCode);
    },

    /** Caches known codes. Queries the table for an unknown one, because another process may have just added it. */
    async isKnownStatus(code: string, reader: Reader = database): Promise<boolean> {
      if (knownCodes.has(code)) return true;
      await refresh(reader);
      return knownCodes.has(code);
    },

    /** Appends a status to the list or changes an existing one. */
    async upsertStatus(settings: z.output<typeof statusSettings>): Promise<JobStatusCode> {
      const em = database.em();
      const [last] = await em.find(JobStatus, {}, { orderBy: { position: "desc" }, limit: 1 });
      const position = last ? last.position + 1 : 0;
      const status = { ...settings, position };
      return toStatusCode(await em.upsert(JobStatus, status, { onConflictExcludeFields: ["position"] }));
    },
  };
}
