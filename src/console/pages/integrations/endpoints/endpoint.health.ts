/** The health of an endpoint as a label and a message. */
import { formatNumber } from "../../../app/formats.ts";
import type { EndpointHealthFragment } from "../../../generated/webhook-endpoints.ts";
import { isFuture } from "../deliveries/delivery-status.ts";
import type { Tone } from "../../../components/status/tone.ts";

/** Times are separate from the message, so that components can render them. */
export interface EndpointHealth {
  label: string;
  tone: Tone;
  /** Null for a healthy endpoint. */
  message: string | null;
  since: string | null;
  /** When the state ends. */
  until: string | null;
  /** True if a user has to act. */
  needsAction: boolean;
}

const healthy: EndpointHealth = {
  label: "Active",
  tone: "success",
  message: null,
  since: null,
  until: null,
  needsAction: false,
};

export function describeHealth(endpoint: EndpointHealthFragment, nowMs: number): EndpointHealth {
  const { status, statusSince, problem, failingSince, isCircuitOpen } = endpoint;
  const blockedUntil = isFuture(endpoint.blockedUntil, nowMs) ? endpoint.blockedUntil : null;
  const unhealthy: EndpointHealth = { ...healthy, tone: "danger", needsAction: true };
  if (status === "DISABLED") {
    return { ...unhealthy, label: "Disabled", message: disabledMessage(endpoint), since: statusSince };
  }
  if (status === "PAUSED") {
    const message = "Deliveries are paused. New events are kept for the retention period.";
    return { ...healthy, label: "Paused", tone: "muted", message, since: statusSince };
  }
  if (problem !== null) return { ...unhealthy, label: "Can’t sign", message: problem };
  if (isCircuitOpen) {
    const message =
      "Recent deliveries failed, so we only send an occasional test request. Normal delivery resumes after the first success.";
    return { ...unhealthy, label: "Backing off", message, since: failingSince, until: blockedUntil };
  }
  if (blockedUntil !== null) {
    const message = "The receiver asked us to wait (Retry-After). Deliveries resume at the time below.";
    return { ...healthy, label: "Throttled", tone: "attention", message, until: blockedUntil };
  }
  if (failingSince !== null) {
    const message = "The latest attempts failed. We retry them automatically.";
    return { ...unhealthy, label: "Failing", tone: "attention", message, since: failingSince };
  }
  return healthy;
}

const WAIT_REASONS: Readonly<Record<string, string>> = {
  Disabled: "On hold: the endpoint is disabled",
  Paused: "On hold: the endpoint is paused",
  "Can’t sign": "On hold: requests can’t be signed",
  "Backing off": "Waits: recent deliveries to the endpoint failed",
  Throttled: "Waits: the receiver asked for a pause",
};

/** Why deliveries to the endpoint are not sent now; null if they are. */
export function waitReason(endpoint: EndpointHealthFragment, nowMs: number): string | null {
  return WAIT_REASONS[describeHealth(endpoint, nowMs).label] ?? null;
}

/** `99.8 %`, never rounded up to 100 %; null for no rate. */
export function formatRate(rate: number | null): string | null {
  return rate === null ? null : `${formatNumber(Math.floor(rate * 1_000) / 10)} %`;
}

function disabledMessage({ disabledReason }: EndpointHealthFragment): string {
  const reason =
    disabledReason === "GONE" ? "The receiver returned 410 Gone." : "All deliveries kept failing.";
  return `${reason} New events are kept for the retention period. Resume the endpoint once the receiver works.`;
}
