/** A job as Agenda keeps it in MongoDB, and the id that makes it the only one of its kind. */
import { createHash } from "node:crypto";
import type { MongoJobRepository } from "@agendajs/mongo-backend";
import { ObjectId } from "mongodb";

/** Where Agenda, and Agendash, look unless told otherwise. */
export const TASKS_COLLECTION = "agendaJobs";

export type TaskCollection = MongoJobRepository["collection"];

export interface NewTask {
  readonly name: string;
  readonly payload: unknown;
  readonly nextRunAt: Date;
  /** Null: it runs once. */
  readonly intervalMs: number | null;
}

/**
 * Made from the name and the payload: the primary key keeps every process from adding a second, without an index that
 * would have to be searched (Agenda's own `unique` reads all jobs of the name, and lets two that come together both in).
 */
export function taskId({ name, payload }: Pick<NewTask, "name" | "payload">): ObjectId {
  const digest = createHash("sha256")
    .update(`${name}\n${JSON.stringify(payload)}`)
    .digest();
  return new ObjectId(digest.subarray(0, 12));
}

/** Every property that Agenda 6 writes itself, in the same shape. */
export function taskDocument({ name, payload, nextRunAt, intervalMs }: NewTask, lastModifiedBy: string) {
  return {
    name,
    data: payload,
    type: intervalMs === null ? ("normal" as const) : ("single" as const),
    priority: 0,
    nextRunAt,
    repeatInterval: intervalMs,
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
