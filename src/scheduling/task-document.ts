/** The MongoDB document of a task in Agenda's format, with an id derived from its name and payload. */
import { createHash } from "node:crypto";
import type { MongoJobRepository } from "@agendajs/mongo-backend";
import { ObjectId } from "mongodb";

/** The default collection of Agenda and Agendash. */
export const TASKS_COLLECTION = "agendaJobs";

export type TaskCollection = MongoJobRepository["collection"];

export interface NewTask {
  readonly name: string;
  readonly payload: unknown;
  readonly nextRunAt: Date;
  /** Null for a one-off task. */
  readonly intervalMs: number | null;
}

/**
 * A hash of name and payload, so that the primary key prevents duplicates. Agenda's own `unique` scans all tasks of the name and
 * does not prevent concurrent duplicates.
 */
export function taskId({ name, payload }: Pick<NewTask, "name" | "payload">): ObjectId {
  const digest = createHash("sha256")
    .update(`${name}\n${JSON.stringify(payload)}`)
    .digest();
  return new ObjectId(digest.subarray(0, 12));
}

/** A document with every property that Agenda 6 writes. */
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
