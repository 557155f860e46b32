/** Converts event rows to the JSON of the API. The feed and webhooks send the same body. */
import { toTypedId } from "../core/ids.ts";
import type { Actor, Principal } from "../core/principal.ts";
import { toIsoTime } from "../core/time.ts";
import { type JobRow, type JobWire, toJobWire } from "../jobs/api.ts";
import { type EventType, isRemoval } from "./entity.ts";

export const API_VERSION = "v1" as const;

export interface EventChange {
  from: unknown;
  to: unknown;
}

export type EventChanges = Record<string, EventChange>;

/** The whole job, or only its identity. */
export type EventJobWire = Pick<JobWire, "id" | "marking_number" | "version"> & {
  readonly [Name in keyof JobWire]?: JobWire[Name] | undefined;
};

export interface EventRow {
  id: string;
  type: EventType;
  sequence: number;
  actor_type: Actor["type"];
  actor_id: string | null;
  request_id: string | null;
  occurred_at: string;
  changes: EventChanges;
  job: JobRow;
}

export type EventWire = ReturnType<typeof toEventWire>;

/** An entry of a job's history: the event without the job, which the client already has. */
export type HistoryEntryWire = ReturnType<typeof toHistoryEntryWire>;

/** The organisation that receives an event, which decides on the contractors it may see. */
export type EventAudience = Pick<Principal, "organizationId" | "organizationType">;

export function toEventWire(row: EventRow, audience: EventAudience) {
  return {
    id: toTypedId("evt", row.id),
    type: row.type,
    api_version: API_VERSION,
    timestamp: toIsoTime(row.occurred_at),
    data: {
      job: isRemoval(row.type) ? toRemovedJobWire(row) : toJobWire(row.job),
      changes: toChangesWire(row.changes, audience),
      sequence: row.sequence,
      actor: toActorWire(row),
      request_id: row.request_id,
    },
  };
}

/** A receiver that can no longer see a job gets nothing but its identity. */
function toRemovedJobWire({ job: { id, marking_number }, sequence: version }: EventRow): EventJobWire {
  return { id: toTypedId("job", id), marking_number, version };
}

export function toHistoryEntryWire(row: Omit<EventRow, "job">, audience: EventAudience) {
  return {
    id: toTypedId("evt", row.id),
    type: row.type,
    sequence: row.sequence,
    occurred_at: toIsoTime(row.occurred_at),
    actor: toActorWire(row),
    request_id: row.request_id,
    changes: toChangesWire(row.changes, audience),
  };
}

function toChangesWire(changes: EventChanges, audience: EventAudience): EventChanges {
  return Object.fromEntries(
    Object.entries(changes).map(([field, change]) => [field, toChangeWire(field, change, audience)]),
  );
}

/**
 * Puts `from` before `to`, because jsonb does not keep the order of keys. Contractors become typed ids. A contractor sees only
 * its own id; the agent and operators see all.
 */
export function toChangeWire(field: string, { from, to }: EventChange, audience: EventAudience): EventChange {
  if (field !== "contractor_id") return { from, to };
  const contractor = (uuid: unknown): string | null =>
    typeof uuid === "string" &&
    (audience.organizationType !== "contractor" || uuid === audience.organizationId)
      ? toTypedId("org", uuid)
      : null;
  return { from: contractor(from), to: contractor(to) };
}

const actorPrefixes = { key: "key", user: "usr", system: null } as const;

export function toActorWire({ actor_type: type, actor_id: id }: Pick<EventRow, "actor_type" | "actor_id">) {
  const prefix = actorPrefixes[type];
  return { type, id: id !== null && prefix ? toTypedId(prefix, id) : null };
}
