/** Deliveries and attempts as the API shows them: typed ids, times in ISO 8601. */
import { timestampOf, toTypedId } from "../../core/ids.ts";
import { toIsoTime } from "../../core/time.ts";

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

/** A row of `deliveryColumns` and the job's Marking Number, with UUIDs and times as PostgreSQL's text. */
export interface DeliveryRow extends Omit<DeliveryView, "nextAttemptAt" | "isInFlight" | "createdAt"> {
  dueAt: string;
  isLeased: boolean;
}

/** A row of `attemptColumns`. */
export interface AttemptRow extends AttemptView {
  deliveryId: string;
}

export function toDeliveryView({ dueAt, isLeased, ...row }: DeliveryRow): DeliveryView {
  const isPending = row.status === "pending";
  return {
    ...row,
    id: toTypedId("dlv", row.id),
    endpointId: toTypedId("whe", row.endpointId),
    eventId: toTypedId("evt", row.eventId),
    jobId: row.jobId === null ? null : toTypedId("job", row.jobId),
    nextAttemptAt: isPending && !isLeased && row.attempts > 0 ? toIsoTime(dueAt) : null,
    isInFlight: isPending && isLeased,
    createdAt: timestampOf(row.id),
    finishedAt: row.finishedAt === null ? null : toIsoTime(row.finishedAt),
  };
}

export function toAttemptView(attemptRow: AttemptRow): AttemptView {
  const { deliveryId: _, ...row } = attemptRow;
  return { ...row, id: toTypedId("att", row.id), startedAt: toIsoTime(row.startedAt) };
}
