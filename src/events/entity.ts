/**
 * The `job_event` table: one row per job change, written in the statement of the change. It serves as the webhook outbox, the
 * job history and the feed.
 */
import { defineEntity, p, type InferEntity } from "@mikro-orm/postgresql";
import { actorTypes } from "../core/principal.ts";

/** Events after which the receiver can no longer see the job: they contain only its identity. */
export const removalTypes = ["job.unassigned", "job.deleted"] as const;
export const eventTypes = [
  "job.created",
  "job.updated",
  "job.status_changed",
  "job.assigned",
  ...removalTypes,
] as const;
export type EventType = (typeof eventTypes)[number];

export function isRemoval(type: EventType): boolean {
  return (removalTypes as readonly EventType[]).includes(type);
}

/** Needs no foreign keys: only statements that change a job insert events. */
export const JobEvent = defineEntity({
  name: "JobEvent",
  tableName: "job_event",
  properties: {
    id: p.uuid().primary(),
    // Together with `position` the order of the feed. See `feed-sequence.sql.ts`.
    transactionId: p
      .type("xid8")
      .columnType("xid8")
      .$type<string>()
      .defaultRaw("feed_sequence(pg_current_xact_id())"),
    position: p.bigint().autoincrement(),
    type: p.enum(eventTypes),
    // With `sequence` the key of a job's history. `job.unassigned` is not part of it, so it has an id of its own.
    jobId: p.uuid(),
    // The organisations that can see the event: the job's agent, and its contractor at the time. Null for `job.unassigned`,
    // which only the former contractor sees.
    agentId: p.uuid().nullable(),
    contractorId: p.uuid().nullable(),
    sequence: p.integer(),
    actorType: p.enum(actorTypes),
    actorId: p.uuid().nullable(),
    requestId: p.text().nullable(),
    // W3C `traceparent`, the parent of the delivery spans; null if the request was not traced.
    traceParent: p.text().nullable(),
    occurredAt: p.datetime(3).$type<string>().defaultRaw("now()"),
    changes: p.json<Record<string, { from: unknown; to: unknown }>>(),
    // The whole job after the change, so that late readers see the state at that time. Of a removal: id and marking_number.
    job: p.json<Record<string, unknown>>(),
  },
  uniques: [{ name: "job_event_sequence", properties: ["jobId", "sequence"] }],
  indexes: [
    // For operators and for the tail, which read the events of all organisations.
    { name: "job_event_feed", properties: ["transactionId", "position"] },
    { name: "job_event_agent_feed", properties: ["agentId", "transactionId", "position"] },
    { name: "job_event_contractor_feed", properties: ["contractorId", "transactionId", "position"] },
  ],
});

export type JobEvent = InferEntity<typeof JobEvent>;
