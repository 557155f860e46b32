/** Mails about a request for an account. */
import { composeMail, type NewMail } from "../../mail/api.ts";
import type { AccountRequest } from "./entity.ts";

type Requested = Pick<AccountRequest, "email" | "organizationName">;

const IGNORE_FOOTNOTE =
  "If you didn't ask for this, you can ignore it. No account is created unless you set it up yourself.";

/**
 * Anyone can enter any e-mail address in the public form. So this mail repeats nothing else from the form: it could
 * otherwise be used to send anyone's text under our name.
 */
export function requestReceivedMail(email: string): NewMail {
  return composeMail(email, "account_request_received", {
    subject: "We have received your request for an account",
    title: "Thank you for your request",
    paragraphs: [
      "We have received your request for a Waymark account with this e-mail address. We read every request, and will reply to this address.",
    ],
    footnote: IGNORE_FOOTNOTE,
  });
}

/** The public form answers the same for every e-mail address; only the owner of the mailbox learns that it has an account. */
export function accountExistsMail(email: string, signInUrl: string): NewMail {
  return composeMail(email, "account_exists", {
    title: "You already have an account",
    paragraphs: [
      "Someone, probably you, asked for a Waymark account with this e-mail address. You already have one, so you can sign in now.",
      'If you don\'t remember your password, choose "Forgotten your password?" on the sign-in page.',
    ],
    action: { label: "Sign in", url: signInUrl },
    footnote: "If you didn't ask for this, you can ignore it. Your account hasn't changed.",
  });
}

export function registrationMail({ email, organizationName }: Requested, url: string): NewMail {
  return composeMail(email, "registration", {
    subject: `Welcome: set up your account for ${organizationName}`,
    title: "Your account is ready to set up",
    paragraphs: [
      `We have approved your request and are glad to have ${organizationName} with us. To get started, choose a name and a password.`,
      "The link works once and expires after 72 hours. If it has expired, request an account with this e-mail address again: we will send you a new link straight away.",
    ],
    action: { label: "Set up your account", url },
    footnote: IGNORE_FOOTNOTE,
  });
}

export function rejectionMail({ email, organizationName }: Requested, reason: string): NewMail {
  return composeMail(email, "account_request_rejected", {
    subject: `Your request for ${organizationName}`,
    title: "We can't open this account",
    paragraphs: [
      `Thank you for requesting an account for ${organizationName}. We have read your request, and can't open an account at present, for this reason:`,
      reason,
      "If this changes, or if we have misunderstood, you are welcome to send a new request.",
    ],
  });
}

export function questionMail({ email, organizationName }: Requested, question: string, url: string): NewMail {
  return composeMail(email, "account_request_question", {
    subject: `A question about your request for ${organizationName}`,
    title: "We have a question",
    paragraphs: [
      `Thank you for requesting an account for ${organizationName}. Before we can decide, we have a question:`,
      question,
    ],
    action: { label: "Answer", url },
    footnote: `The link works for one answer and expires after 14 days. ${IGNORE_FOOTNOTE}`,
  });
}
