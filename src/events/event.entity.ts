/**
 * A job event: one row for each change of a job, written in the statement of the change. It is the outbox of the
 * webhooks, the history of the job and the feed to poll, all in one.
 */
import { defineEntity, p, type InferEntity } from "@mikro-orm/postgresql";
import { actorTypes } from "../platform/principal.ts";

export const eventTypes = ["job.created", "job.updated", "job.status_changed", "job.assigned"] as const;
export type EventType = (typeof eventTypes)[number];

/** Foreign keys are left out: rows are only ever written beside the job's own change, and jobs are never deleted. */
export const JobEvent = defineEntity({
  name: "JobEvent",
  tableName: "job_event",
  properties: {
    id: p.uuid().primary(),
    // The transaction's number and the row's place in it: the feed's order. See `feed-number.service.ts`.
    transactionId: p
      .type("xid8")
      .columnType("xid8")
      .$type<string>()
      .defaultRaw("feed_sequence(pg_current_xact_id())"),
    position: p.bigint().autoincrement(),
    type: p.enum(eventTypes),
    jobId: p.uuid(),
    // Who may see it: the job's agent, and its contractor at that moment.
    agentId: p.uuid(),
    contractorId: p.uuid().nullable(),
    sequence: p.integer(),
    actorType: p.enum(actorTypes),
    actorId: p.uuid().nullable(),
    requestId: p.text().nullable(),
    // As W3C's `traceparent` has it, below which the event is delivered; null: its request was not traced.
    traceParent: p.text().nullable(),
    occurredAt: p.datetime(3).$type<string>().defaultRaw("now()"),
    // {field: {from, to}}
    changes: p.json<Record<string, { from: unknown; to: unknown }>>(),
    // The whole job as the change left it, so that a late reader sees the state that the event speaks of.
    job: p.json<Record<string, unknown>>(),
  },
  uniques: [{ name: "job_event_sequence", properties: ["jobId", "sequence"] }],
  indexes: [
    // Everybody's feed at once: operators read it, and whoever tells subscribers what is new.
    { name: "job_event_feed", properties: ["transactionId", "position"] },
    { name: "job_event_agent_feed", properties: ["agentId", "transactionId", "position"] },
    { name: "job_event_contractor_feed", properties: ["contractorId", "transactionId", "position"] },
  ],
});

export type JobEvent = InferEntity<typeof JobEvent>;
