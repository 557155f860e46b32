/** A request's states, and what it was asked for, in words. */
import type { Tone } from "../../components/tone.ts";
import type { AccountRequestStatus, OrganizationType } from "../../generated/account-requests.ts";

interface StatusWords {
  label: string;
  tone: Tone;
  /** What is to happen next. */
  next: string;
}

export const requestStatuses: Record<AccountRequestStatus, StatusWords> = {
  PENDING: { label: "Waiting", tone: "attention", next: "It waits for a decision." },
  ASKED: {
    label: "Asked",
    tone: "progress",
    next: "It waits for the person's answer. You can decide without it.",
  },
  APPROVED: {
    label: "Approved",
    tone: "progress",
    next: "The registration's link was sent. It waits for the person.",
  },
  REGISTERED: { label: "Registered", tone: "success", next: "The person has registered and can sign in." },
  REJECTED: { label: "Rejected", tone: "muted", next: "The person was told why." },
};

export const organizationTypes: Record<OrganizationType, string> = {
  AGENT: "Agent",
  CONTRACTOR: "Contractor",
};
