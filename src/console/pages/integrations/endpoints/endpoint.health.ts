/** How an endpoint fares, as one word and one sentence. */
import type { EndpointHealthFragment } from "../../../generated/webhook-endpoints.ts";
import { isFuture } from "../deliveries/delivery-status.ts";
import type { Tone } from "../../../components/status/tone.ts";

/** Instants in a sentence are shown by whoever shows it. */
export interface EndpointHealth {
  label: string;
  tone: Tone;
  /** Null: there is nothing to say. */
  message: string | null;
  /** Since when it is so. */
  since: string | null;
  /** Until when it is so. */
  until: string | null;
  /** Whether somebody has to do something. */
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
    const message = "Nothing is sent. Its events are kept for the retention time.";
    return { ...healthy, label: "Paused", tone: "muted", message, since: statusSince };
  }
  if (problem !== null) return { ...unhealthy, label: "Cannot sign", message: problem };
  if (isCircuitOpen) {
    const message =
      "So much failed in a row that only single probes are sent. The first that succeeds brings everything back.";
    return { ...unhealthy, label: "Only probed", message, since: failingSince, until: blockedUntil };
  }
  if (blockedUntil !== null) {
    const message = "The receiver asked for time. Nothing is sent until then.";
    return { ...healthy, label: "Waits", tone: "attention", message, until: blockedUntil };
  }
  if (failingSince !== null) {
    const message = "The last attempts failed. They are tried again by themselves.";
    return { ...unhealthy, label: "Failing", tone: "attention", message, since: failingSince };
  }
  return healthy;
}

function disabledMessage({ disabledReason }: EndpointHealthFragment): string {
  const reason = disabledReason === "GONE" ? "It answered 410 Gone." : "Nothing succeeded there for 5 days.";
  return `${reason} Its events are kept for the retention time. Resume it once the receiver is well.`;
}
