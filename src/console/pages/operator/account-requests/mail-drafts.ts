/**
 * Previews of the mails that an operator's decision sends. The texts must equal those of `src/accounts/requests/mails.ts`
 * (test/unit/console/operator.test.ts).
 */

export interface MailDraft {
  to: string;
  subject: string;
  paragraphs: readonly string[];
  /** The label of the button. */
  action?: string;
}

interface DraftRecipient {
  email: string;
  organizationName: string;
}

export function registrationDraft({ email, organizationName }: DraftRecipient): MailDraft {
  return {
    to: email,
    subject: `Welcome: set up your account for ${organizationName}`,
    paragraphs: [
      `We have approved your request and are glad to have ${organizationName} with us. To get started, choose a name and a password.`,
      "The link works once and expires after 72 hours. If it has expired, request an account with this e-mail address again: we will send you a new link straight away.",
    ],
    action: "Set up your account",
  };
}

export function rejectionDraft({ email, organizationName }: DraftRecipient, reason: string): MailDraft {
  return {
    to: email,
    subject: `Your request for ${organizationName}`,
    paragraphs: [
      `Thank you for requesting an account for ${organizationName}. We have read your request, and can't open an account at present, for this reason:`,
      reason,
      "If this changes, or if we have misunderstood, you are welcome to send a new request.",
    ],
  };
}

export function questionDraft({ email, organizationName }: DraftRecipient, question: string): MailDraft {
  return {
    to: email,
    subject: `A question about your request for ${organizationName}`,
    paragraphs: [
      `Thank you for requesting an account for ${organizationName}. Before we can decide, we have a question:`,
      question,
    ],
    action: "Answer",
  };
}
