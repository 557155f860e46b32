/** An event as the API tells it: the same body in the feed and in a webhook. */
import { toTypedId } from "../platform/ids.ts";
import type { Actor, Principal } from "../platform/principal.ts";
import { toIsoTime } from "../platform/time.ts";
import { type JobRow, type JobWire, toJobWire } from "../jobs/api.ts";
import type { EventType } from "./event.entity.ts";

export const API_VERSION = "v1";

export interface EventChange {
  from: unknown;
  to: unknown;
}

export type EventChanges = Record<string, EventChange>;

/** An event as PostgreSQL gives it. */
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

export interface ActorWire {
  type: Actor["type"];
  id: string | null;
}

export interface EventWire {
  id: string;
  type: EventType;
  api_version: typeof API_VERSION;
  timestamp: string;
  data: {
    job: JobWire;
    changes: EventChanges;
    sequence: number;
    actor: ActorWire;
    request_id: string | null;
  };
}

/** One step of a job's history: the event without the job, which the reader has already. */
export interface HistoryEntryWire {
  id: string;
  type: EventType;
  sequence: number;
  occurred_at: string;
  actor: ActorWire;
  request_id: string | null;
  changes: EventChanges;
}

/** Whose eyes an event is for: what `toEventWire` needs to know of a principal. */
export type EventAudience = Pick<Principal, "organizationId" | "organizationType">;

/** The event as `viewer` may see it. */
export function toEventWire(row: EventRow, audience: EventAudience): EventWire {
  return {
    id: toTypedId("evt", row.id),
    type: row.type,
    api_version: API_VERSION,
    timestamp: toIsoTime(row.occurred_at),
    data: {
      job: toJobWire(row.job),
      changes: toChangesWire(row.changes, audience),
      sequence: row.sequence,
      actor: toActorWire(row),
      request_id: row.request_id,
    },
  };
}

export function toHistoryEntryWire(row: Omit<EventRow, "job">, audience: EventAudience): HistoryEntryWire {
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
 * jsonb keeps no order of keys: `from` stands before `to` here. An assignment shows contractors by their typed ids: all of
 * them to the agent and to operators, to a contractor only itself, since who had the job before or has it now is not its business.
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

export function toActorWire({
  actor_type: type,
  actor_id: id,
}: Pick<EventRow, "actor_type" | "actor_id">): ActorWire {
  const prefix = actorPrefixes[type];
  return { type, id: id !== null && prefix ? toTypedId(prefix, id) : null };
}
