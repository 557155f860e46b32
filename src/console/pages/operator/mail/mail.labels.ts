/** Labels for the status and the kind of an e-mail. */
import type { Tone } from "../../../components/status/tone.ts";
import type { MailStatus } from "../../../generated/mail-outbox.ts";

export const mailStatusLabels: Record<MailStatus, { label: string; tone: Tone }> = {
  PENDING: { label: "Pending", tone: "progress" },
  SENT: { label: "Sent", tone: "success" },
  FAILED: { label: "Failed", tone: "danger" },
  STORED: { label: "Stored", tone: "attention" },
};

/** `account_request_question` becomes "Account request question". */
export function kindLabel(kind: string): string {
  const text = kind.replaceAll("_", " ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}
