/** Sample events: one of each type for any job, without a change of the job. */
import type { EventChanges, EventType } from "../events/api.ts";
import { exampleJobFields, type JobRow, jobFieldNames, TEST_PREFIX } from "../jobs/api.ts";
import type { TestOrganizations } from "./test-organizations.ts";
import { newUuid } from "../core/ids.ts";

export interface SampleEventRequest {
  type: EventType;
  /** The job that the event is about. Absent: the newest one, or the example of the documentation. */
  markingNumber?: string | undefined;
  /** Typed id of the only endpoint that receives the event. */
  endpointId?: string | undefined;
}

/** A job that does not exist, for test organisations without jobs. */
export function exampleJob({ agent, contractor }: TestOrganizations, now: Date): JobRow {
  const time = now.toISOString();
  return {
    ...exampleJobFields,
    id: newUuid(),
    marking_number: `${TEST_PREFIX}EXAMPLE`,
    agent_id: agent,
    contractor_id: contractor,
    version: 1,
    created_at: time,
    updated_at: time,
  };
}

/** By type, the changes of an event after which the job has its present values. */
export const sampleChanges: Readonly<Record<EventType, (job: JobRow) => EventChanges>> = {
  "job.created": (job) =>
    Object.fromEntries(
      jobFieldNames.filter((name) => job[name] !== null).map((name) => [name, { from: null, to: job[name] }]),
    ),
  "job.assigned": (job) => ({ contractor_id: { from: null, to: job.contractor_id } }),
  "job.unassigned": (job) => ({ contractor_id: { from: job.contractor_id, to: null } }),
  "job.deleted": () => ({}),
  "job.updated": ({ instructions: to }) => ({
    instructions: { from: to === null ? exampleJobFields.instructions : null, to },
  }),
  "job.status_changed": ({ normalized_status: to }) => ({
    normalized_status: { from: to === "pending" ? "scheduled" : "pending", to },
  }),
};
