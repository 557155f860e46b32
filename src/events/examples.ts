/** Examples for the documentation: a job whose delivery fails because of a wrong address, and its events. */
import { exampleJob, jobFieldNames, type JobWire } from "../jobs/api.ts";
import type { EventType } from "./entity.ts";
import { API_VERSION, type EventChanges, type EventWire, type HistoryEntryWire } from "./wire.ts";

export const exampleRequestId = "req_01KAJQZ4T0W5H8M3N9PXR2VD7C";

const exampleChanges: EventChanges = {
  normalized_status: { from: "out_for_delivery", to: "failed" },
  failure_reason: { from: null, to: "wrong_incomplete_address" },
  scheduled_delivery_pending: { from: false, to: true },
};

const keyActor = { type: "key", id: "key_01KAB7Q3M5E8RZ2C4WFX9TNH6D" } as const;
const systemActor = { type: "system", id: null } as const;

export const exampleHistoryEntry: HistoryEntryWire = {
  id: "evt_01KAJQZ4T3C6Y1GKD8B5RVXE2H",
  type: "job.status_changed",
  sequence: exampleJob.version,
  occurred_at: exampleJob.updated_at,
  actor: keyActor,
  request_id: exampleRequestId,
  changes: exampleChanges,
};

function exampleEvent(type: EventType, id: string, data: EventWire["data"]): EventWire {
  const timestamp = data.job.updated_at ?? REMOVAL_TIME;
  return { id, type, api_version: API_VERSION, timestamp, data };
}

const REMOVAL_TIME = "2026-11-21T10:02:11.090Z";
const removedJob = {
  id: exampleJob.id,
  marking_number: exampleJob.marking_number,
  version: exampleJob.version + 1,
};

const createdJob: JobWire = {
  ...exampleJob,
  instructions: null,
  normalized_status: "pending",
  failure_reason: null,
  scheduled_delivery_pending: false,
  provider_status: null,
  updated_at: exampleJob.created_at,
  contractor: null,
  version: 1,
};

const { contractor } = exampleJob;

export const exampleEvents: Record<EventType, EventWire> = {
  "job.created": exampleEvent("job.created", "evt_01KAGD2WJ8M4ZR1X7TQ5C9HNV3", {
    job: createdJob,
    changes: Object.fromEntries(
      jobFieldNames
        .filter((name) => createdJob[name] !== null)
        .map((name) => [name, { from: null, to: createdJob[name] }]),
    ),
    sequence: 1,
    actor: systemActor,
    request_id: null,
  }),
  "job.assigned": exampleEvent("job.assigned", "evt_01KAGD2WJMC8Q2E6VB0KX3TZR9", {
    job: { ...createdJob, updated_at: "2026-11-20T06:30:00.012Z", contractor, version: 2 },
    changes: { contractor_id: { from: null, to: contractor?.id } },
    sequence: 2,
    actor: systemActor,
    request_id: null,
  }),
  "job.updated": exampleEvent("job.updated", "evt_01KAGWJ5TK7D3N9HYX5Q1FB8CM", {
    job: {
      ...createdJob,
      instructions: exampleJob.instructions,
      updated_at: "2026-11-20T11:02:07.540Z",
      contractor,
      version: 3,
    },
    changes: { instructions: { from: null, to: exampleJob.instructions } },
    sequence: 3,
    actor: keyActor,
    request_id: "req_01KAGWJ5T4Z9C2E7HBN6QX8RDM",
  }),
  "job.status_changed": exampleEvent("job.status_changed", exampleHistoryEntry.id, {
    job: exampleJob,
    changes: exampleChanges,
    sequence: exampleHistoryEntry.sequence,
    actor: keyActor,
    request_id: exampleRequestId,
  }),
  "job.unassigned": exampleEvent("job.unassigned", "evt_01KAJTMV1J5M2E8QZ6XW0BR9HC", {
    job: removedJob,
    changes: { contractor_id: { from: contractor?.id, to: null } },
    sequence: removedJob.version,
    actor: systemActor,
    request_id: null,
  }),
  "job.deleted": exampleEvent("job.deleted", "evt_01KAJTMV1J7C4N9RD3GK8VY2TS", {
    job: removedJob,
    changes: {},
    sequence: removedJob.version,
    actor: keyActor,
    request_id: "req_01KAJTMV1H0F6W3ZB5QX8N2PEA",
  }),
};
