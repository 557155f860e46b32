/** Deliveries and attempts as the API shows them: typed ids, times in ISO 8601. */
import { timestampOf, toTypedId } from "../../platform/ids.ts";
import { raw } from "../../platform/postgres/sql.ts";
import { toIsoTime } from "../../platform/time.ts";

/** `discarded`: the owner discarded it, or a replay replaced it. */
export const deliveryStatuses = ["pending", "delivered", "failed", "discarded"] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];
export type DeliveryOrigin = "event" | "replay" | "test";

export interface DeliveryView {
  id: string;
  endpointId: string;
  /** Sent as `webhook-id`. */
  eventId: string;
  eventType: string;
  /** Null for a test event. */
  jobId: string | null;
  markingNumber: string | null;
  origin: DeliveryOrigin;
  status: DeliveryStatus;
  attempts: number;
  /** The result of the last attempt; null before the first. */
  outcome: string | null;
  /** Null unless a retry is scheduled. */
  nextAttemptAt: string | null;
  isInFlight: boolean;
  createdAt: string;
  finishedAt: string | null;
}

export interface AttemptView {
  id: string;
  /** Counted from 1. */
  number: number;
  startedAt: string;
  durationMs: number;
  outcome: string;
  httpStatus: number | null;
  /** Message for the endpoint's owner: what is wrong and how to fix it. */
  error: string | null;
  /** As sent, with the values of custom headers masked. */
  requestHeaders: Record<string, string>;
  responseHeaders: Record<string, string> | null;
  /** The first 4 KiB. */
  responseBody: string | null;
}

export interface DeliveryRow {
  id: string;
  endpoint_id: string;
  event_id: string;
  event_type: string;
  job_id: string | null;
  marking_number: string | null;
  origin: DeliveryOrigin;
  status: DeliveryStatus;
  attempts: number;
  outcome: string | null;
  due_at: string;
  is_leased: boolean;
  finished_at: string | null;
}

export interface AttemptRow {
  id: string;
  number: number;
  started_at: string;
  duration_ms: number;
  outcome: string;
  http_status: number | null;
  error: string | null;
  request_headers: Record<string, string>;
  response_headers: Record<string, string> | null;
  response_body: string | null;
}

/** The columns of a `DeliveryRow` that come from `webhook_delivery`. */
export const deliveryColumns =
  raw(`id, endpoint_id, event_id, event_type, job_id, origin, status, attempts, outcome,
  due_at, lease_token is not null and due_at > clock_timestamp() as is_leased, finished_at`);

export const attemptColumns =
  raw(`id, number, started_at, duration_ms, outcome, http_status, error, request_headers,
  response_headers, response_body`);

export function toDeliveryView(row: DeliveryRow): DeliveryView {
  const isAwaitingRetry = row.status === "pending" && !row.is_leased && row.attempts > 0;
  return {
    id: toTypedId("dlv", row.id),
    endpointId: toTypedId("whe", row.endpoint_id),
    eventId: toTypedId("evt", row.event_id),
    eventType: row.event_type,
    jobId: row.job_id === null ? null : toTypedId("job", row.job_id),
    markingNumber: row.marking_number,
    origin: row.origin,
    status: row.status,
    attempts: row.attempts,
    outcome: row.outcome,
    nextAttemptAt: isAwaitingRetry ? toIsoTime(row.due_at) : null,
    isInFlight: row.status === "pending" && row.is_leased,
    createdAt: timestampOf(row.id),
    finishedAt: row.finished_at === null ? null : toIsoTime(row.finished_at),
  };
}

export function toAttemptView(row: AttemptRow): AttemptView {
  return {
    id: toTypedId("att", row.id),
    number: row.number,
    startedAt: toIsoTime(row.started_at),
    durationMs: row.duration_ms,
    outcome: row.outcome,
    httpStatus: row.http_status,
    error: row.error,
    requestHeaders: row.request_headers,
    responseHeaders: row.response_headers,
    responseBody: row.response_body,
  };
}
