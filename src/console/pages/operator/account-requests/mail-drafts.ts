/**
 * What a person is sent when an operator decides, in the words of the server's `src/accounts/requests/mails.ts`: a test
 * holds the two together.
 */

export interface MailDraft {
  to: string;
  subject: string;
  paragraphs: readonly string[];
  /** The button that the link is behind. */
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
      `We are glad to have ${organizationName} with us. Choose a name and a password, and you can begin.`,
      "The link is good once, for 72 hours. Should it have ended, ask for an account with this address again, and a new one is sent at once.",
    ],
    action: "Set up your account",
  };
}

export function rejectionDraft({ email, organizationName }: DraftRecipient, reason: string): MailDraft {
  return {
    to: email,
    subject: `Your request for ${organizationName}`,
    paragraphs: [
      `Thank you for asking for an account for ${organizationName}. We have read your request, and cannot open one as things are. This is why:`,
      reason,
      "Should this change, or should we have misunderstood, you are welcome to ask again.",
    ],
  };
}

export function questionDraft({ email, organizationName }: DraftRecipient, question: string): MailDraft {
  return {
    to: email,
    subject: `A question about your request for ${organizationName}`,
    paragraphs: [
      `Thank you for asking for an account for ${organizationName}. Before we can go on, we should like to know:`,
      question,
    ],
    action: "Answer",
  };
}
