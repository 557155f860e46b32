/** A mail's states and kinds in words. */
import type { Tone } from "../../components/tone.ts";
import type { MailStatus } from "../../generated/mail-outbox.ts";

export const mailStatuses: Record<MailStatus, { label: string; tone: Tone }> = {
  WAITING: { label: "Waiting", tone: "progress" },
  SENT: { label: "Sent", tone: "success" },
  FAILED: { label: "Given up", tone: "danger" },
  KEPT: { label: "Kept here", tone: "attention" },
};

/** `account_request_question` as words. */
export function kindInWords(kind: string): string {
  const words = kind.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
