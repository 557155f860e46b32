/** A mail's states and kinds in words. */
import type { Tone } from "../../../components/status/tone.ts";
import type { MailStatus } from "../../../generated/mail-outbox.ts";

export const mailStatusLabels: Record<MailStatus, { label: string; tone: Tone }> = {
  WAITING: { label: "Waiting", tone: "progress" },
  SENT: { label: "Sent", tone: "success" },
  FAILED: { label: "Given up", tone: "danger" },
  KEPT: { label: "Kept here", tone: "attention" },
};

/** `account_request_question` as words. */
export function kindLabel(kind: string): string {
  const text = kind.replaceAll("_", " ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}
