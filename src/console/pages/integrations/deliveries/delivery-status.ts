/** How deliveries and their attempts stand, in words. */
import type { DeliveryRowFragment, WebhookDeliveryStatus } from "../../../generated/webhook-deliveries.ts";
import type { Tone } from "../../../components/status/tone.ts";

const OUTCOME_LABELS: Readonly<Record<string, string>> = {
  delivered: "Delivered",
  dns: "The host name does not resolve to public addresses",
  connect_refused: "The connection was refused",
  connect_timeout: "No connection in time",
  tls: "The TLS handshake failed",
  timeout: "No answer in time",
  reset: "The connection broke off",
  blocked_address: "The IP address in the URL is not public",
  invalid_response: "The answer was not HTTP",
  event_missing: "The event is gone",
  interrupted: "Interrupted on our side",
  secret_unreadable: "The secret cannot be read",
  internal_error: "An error on our side",
};

/** `http_503` is "Answered 503". */
export function outcomeLabel(outcome: string): string {
  const status = /^http_(\d{3})$/.exec(outcome)?.[1];
  return status === undefined ? (OUTCOME_LABELS[outcome] ?? outcome) : `Answered ${status}`;
}

interface StatusDisplay {
  label: string;
  tone: Tone;
}

export const deliveryStatuses = [
  "PENDING",
  "DELIVERED",
  "DEAD",
  "DISCARDED",
] as const satisfies readonly WebhookDeliveryStatus[];

/** Of a delivery as a whole. */
export const DELIVERY_STATUS: Record<WebhookDeliveryStatus, StatusDisplay> = {
  PENDING: { label: "Waiting", tone: "progress" },
  DELIVERED: { label: "Delivered", tone: "success" },
  DEAD: { label: "Failed", tone: "danger" },
  DISCARDED: { label: "Discarded", tone: "muted" },
};

/** For menus: how a status is called. */
export function statusLabel(status: WebhookDeliveryStatus): string {
  return DELIVERY_STATUS[status].label;
}

export function deliveryStatusOf({
  status,
  isInFlight,
  attemptCount,
}: Pick<DeliveryRowFragment, "status" | "isInFlight" | "attemptCount">): StatusDisplay {
  if (isInFlight) return { label: "Being sent", tone: "progress" };
  if (status === "PENDING" && attemptCount > 0) return { label: "To be retried", tone: "attention" };
  return DELIVERY_STATUS[status];
}

/** A retry whose time has come, and that waits for its endpoint, is not ahead any more. */
export function isFuture(instant: string | null, nowMs: number): instant is string {
  return instant !== null && Date.parse(instant) > nowMs;
}
