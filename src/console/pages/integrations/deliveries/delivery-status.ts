/** Labels for the status of deliveries and for the outcome of attempts. */
import { formatNumber } from "../../../app/formats.ts";
import type { DeliveryRowFragment, WebhookDeliveryStatus } from "../../../generated/webhook-deliveries.ts";
import type { Tone } from "../../../components/status/tone.ts";

const OUTCOME_LABELS: Readonly<Record<string, string>> = {
  delivered: "Delivered",
  dns: "The host name does not resolve to a public IP address",
  connect_refused: "Connection refused",
  connect_timeout: "Connection timed out",
  tls: "TLS handshake failed",
  timeout: "No response in time",
  reset: "Connection reset",
  blocked_address: "The IP address in the URL is not public",
  invalid_response: "Invalid HTTP response",
  event_missing: "The event no longer exists",
  interrupted: "Interrupted on our side",
  secret_unreadable: "The signing secret cannot be read",
  internal_error: "Internal error on our side",
};

/** `http_503` becomes "HTTP 503". */
export function outcomeLabel(outcome: string): string {
  const status = /^http_(\d{3})$/.exec(outcome)?.[1];
  return status === undefined ? (OUTCOME_LABELS[outcome] ?? outcome) : `HTTP ${status}`;
}

interface StatusDisplay {
  label: string;
  tone: Tone;
}

export const deliveryStatuses = [
  "PENDING",
  "RETRYING",
  "DELIVERED",
  "FAILED",
  "DISCARDED",
] as const satisfies readonly WebhookDeliveryStatus[];

export const DELIVERY_STATUS: Record<WebhookDeliveryStatus, StatusDisplay> = {
  PENDING: { label: "Pending", tone: "progress" },
  DELIVERED: { label: "Delivered", tone: "success" },
  FAILED: { label: "Failed", tone: "danger" },
  DISCARDED: { label: "Discarded", tone: "muted" },
  RETRYING: { label: "Retrying", tone: "attention" },
};

export function statusLabel(status: WebhookDeliveryStatus): string {
  return DELIVERY_STATUS[status].label;
}

export function deliveryStatusOf({
  status,
  isInFlight,
  attemptCount,
}: Pick<DeliveryRowFragment, "status" | "isInFlight" | "attemptCount">): StatusDisplay {
  if (isInFlight) return { label: "Sending", tone: "progress" };
  if (status === "PENDING" && attemptCount > 0) return DELIVERY_STATUS.RETRYING;
  return DELIVERY_STATUS[status];
}

/** `1 delivery`, `3 deliveries`. */
export function countDeliveries(count: number): string {
  return count === 1 ? "1 delivery" : `${formatNumber(count)} deliveries`;
}

/** False for a retry that is already due but waits for its endpoint. */
export function isFuture(instant: string | null, nowMs: number): instant is string {
  return instant !== null && Date.parse(instant) > nowMs;
}
