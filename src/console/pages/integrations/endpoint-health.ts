/** How an endpoint fares, as one word and one sentence. */
import type { EndpointHealthFragment } from "../../generated/webhook-endpoints.ts";
import { isAhead } from "./outcomes.ts";
import type { Tone } from "../../components/tone.ts";

/** Instants in a sentence are shown by whoever shows it. */
export interface Health {
  label: string;
  tone: Tone;
  /** Null: there is nothing to say. */
  sentence: string | null;
  /** Since when it is so. */
  since: string | null;
  /** Until when it is so. */
  until: string | null;
  /** Whether somebody has to do something. */
  isTrouble: boolean;
}

const well: Health = {
  label: "Active",
  tone: "success",
  sentence: null,
  since: null,
  until: null,
  isTrouble: false,
};

export function healthOf(endpoint: EndpointHealthFragment, nowMs: number): Health {
  const { status, statusSince, problem, failingSince, isCircuitOpen } = endpoint;
  const blockedUntil = isAhead(endpoint.blockedUntil, nowMs) ? endpoint.blockedUntil : null;
  const trouble: Health = { ...well, tone: "danger", isTrouble: true };
  if (status === "DISABLED") {
    return { ...trouble, label: "Disabled", sentence: disabledSentence(endpoint), since: statusSince };
  }
  if (status === "PAUSED") {
    const sentence = "Nothing is sent. Its events are kept for the retention time.";
    return { ...well, label: "Paused", tone: "muted", sentence, since: statusSince };
  }
  if (problem !== null) return { ...trouble, label: "Cannot sign", sentence: problem };
  if (isCircuitOpen) {
    const sentence =
      "So much failed in a row that only single probes are sent. The first that succeeds brings everything back.";
    return { ...trouble, label: "Only probed", sentence, since: failingSince, until: blockedUntil };
  }
  if (blockedUntil !== null) {
    const sentence = "The receiver asked for time. Nothing is sent until then.";
    return { ...well, label: "Waits", tone: "attention", sentence, until: blockedUntil };
  }
  if (failingSince !== null) {
    const sentence = "The last attempts failed. They are tried again by themselves.";
    return { ...trouble, label: "Failing", tone: "attention", sentence, since: failingSince };
  }
  return well;
}

function disabledSentence({ disabledReason }: EndpointHealthFragment): string {
  const reason = disabledReason === "GONE" ? "It answered 410 Gone." : "Nothing succeeded there for 5 days.";
  return `${reason} Its events are kept for the retention time. Resume it once the receiver is well.`;
}
