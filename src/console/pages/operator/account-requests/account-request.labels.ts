/** Labels for the status and the organisation type of account requests. */
import type { Tone } from "../../../components/status/tone.ts";
import type { AccountRequestStatus, OrganizationType } from "../../../generated/account-requests.ts";

interface RequestStatusLabel {
  label: string;
  tone: Tone;
  /** What happens next. */
  nextStep: string;
}

export const requestStatusLabels: Record<AccountRequestStatus, RequestStatusLabel> = {
  PENDING: { label: "Pending", tone: "attention", nextStep: "Waiting for your decision." },
  AWAITING_REPLY: {
    label: "Question sent",
    tone: "progress",
    nextStep: "Waiting for the person’s answer. You can decide without it.",
  },
  APPROVED: {
    label: "Approved",
    tone: "progress",
    nextStep: "The registration link was sent. The person has not registered yet.",
  },
  REGISTERED: {
    label: "Registered",
    tone: "success",
    nextStep: "The person has registered and can sign in.",
  },
  REJECTED: { label: "Rejected", tone: "muted", nextStep: "The person received the reason by e-mail." },
};

export const organizationTypeLabels: Record<OrganizationType, string> = {
  AGENT: "Agent",
  CONTRACTOR: "Contractor",
};
