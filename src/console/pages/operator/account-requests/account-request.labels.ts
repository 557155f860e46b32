/** A request's states, and what it was asked for, in words. */
import type { Tone } from "../../../components/status/tone.ts";
import type { AccountRequestStatus, OrganizationType } from "../../../generated/account-requests.ts";

interface RequestStatusLabel {
  label: string;
  tone: Tone;
  /** What is to happen next. */
  nextStep: string;
}

export const requestStatusLabels: Record<AccountRequestStatus, RequestStatusLabel> = {
  PENDING: { label: "Waiting", tone: "attention", nextStep: "It waits for a decision." },
  ASKED: {
    label: "Asked",
    tone: "progress",
    nextStep: "It waits for the person's answer. You can decide without it.",
  },
  APPROVED: {
    label: "Approved",
    tone: "progress",
    nextStep: "The registration's link was sent. It waits for the person.",
  },
  REGISTERED: {
    label: "Registered",
    tone: "success",
    nextStep: "The person has registered and can sign in.",
  },
  REJECTED: { label: "Rejected", tone: "muted", nextStep: "The person was told why." },
};

export const organizationTypeLabels: Record<OrganizationType, string> = {
  AGENT: "Agent",
  CONTRACTOR: "Contractor",
};
