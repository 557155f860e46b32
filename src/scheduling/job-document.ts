/** A job as Agenda keeps it in MongoDB, and the id that makes it the only one of its kind. */
import { createHash } from "node:crypto";
import type { MongoJobRepository } from "@agendajs/mongo-backend";
import { ObjectId } from "mongodb";

/** Where Agenda, and Agendash, look unless told otherwise. */
export const JOBS_COLLECTION = "agendaJobs";

export type JobCollection = MongoJobRepository["collection"];

export interface NewJob {
  readonly name: string;
  readonly payload: unknown;
  readonly nextRunAt: Date;
  /** Null: it runs once. */
  readonly everyMs: number | null;
}

/**
 * Made from the name and the payload: the primary key keeps every process from adding a second, without an index that
 * would have to be searched (Agenda's own `unique` reads all jobs of the name, and lets two that come together both in).
 */
export function jobId({ name, payload }: Pick<NewJob, "name" | "payload">): ObjectId {
  const digest = createHash("sha256")
    .update(`${name}\n${JSON.stringify(payload)}`)
    .digest();
  return new ObjectId(digest.subarray(0, 12));
}

/** Every property that Agenda 6 writes itself, in the same shape. */
export function jobDocument({ name, payload, nextRunAt, everyMs }: NewJob, lastModifiedBy: string) {
  return {
    name,
    data: payload,
    type: everyMs === null ? ("normal" as const) : ("single" as const),
    priority: 0,
    nextRunAt,
    repeatInterval: everyMs,
    repeatTimezone: null,
    repeatAt: null,
    lockedAt: null,
    lastRunAt: null,
    lastFinishedAt: null,
    failedAt: null,
    failCount: null,
    failReason: null,
    disabled: null,
    progress: null,
    debounceStartedAt: null,
    fork: null,
    startDate: null,
    endDate: null,
    skipDays: null,
    lastModifiedBy,
  };
}
