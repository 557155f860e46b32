/** What people are written about their request for an account. */
import { composeMail, type MailContent, type NewMail } from "../../mail/api.ts";

interface AccountRequestMailContent {
  readonly email: string;
  readonly organizationName: string;
}

const IGNORE_FOOTNOTE =
  "If you did not ask for this, you need not do anything: without you nothing comes of it.";

/**
 * Goes to whatever address somebody has typed. It repeats nothing of what they wrote beside it, or the form would carry
 * anybody's words to anybody under our name.
 */
export function requestReceivedMail({ email }: Pick<AccountRequestMailContent, "email">): NewMail {
  return composeRequestMail(
    email,
    "account_request_received",
    "We have received your request for an account",
    {
      title: "Thank you for your request",
      paragraphs: [
        "You have asked for an account with this address. Somebody reads every request; you will hear from us here.",
      ],
      footnote: IGNORE_FOOTNOTE,
    },
  );
}

/** The public form answers the same to everybody; the mailbox's owner alone learns this. */
export function accountExistsMail(
  { email }: Pick<AccountRequestMailContent, "email">,
  signInUrl: string,
): NewMail {
  return composeRequestMail(email, "account_exists", "You already have an account", {
    title: "You already have an account",
    paragraphs: [
      "Somebody, probably you, has asked for an account with this e-mail address. You have one already, so there is nothing to wait for: sign in with it.",
      'Should you not remember the password, "Forgotten your password?" on the same page brings you a new one.',
    ],
    action: { label: "Sign in", url: signInUrl },
    footnote: IGNORE_FOOTNOTE,
  });
}

export function registrationMail(
  { email, organizationName }: AccountRequestMailContent,
  url: string,
): NewMail {
  return composeRequestMail(email, "registration", `Welcome: set up your account for ${organizationName}`, {
    title: "Your account is ready to be set up",
    paragraphs: [
      `We are glad to have ${organizationName} with us. Choose a name and a password, and you can begin.`,
      "The link is good once, for 72 hours. Should it have ended, ask for an account with this address again, and a new one is sent at once.",
    ],
    action: { label: "Set up your account", url },
    footnote: IGNORE_FOOTNOTE,
  });
}

export function rejectionMail(
  { email, organizationName }: AccountRequestMailContent,
  reason: string,
): NewMail {
  return composeRequestMail(email, "account_request_rejected", `Your request for ${organizationName}`, {
    title: "We cannot open this account",
    paragraphs: [
      `Thank you for asking for an account for ${organizationName}. We have read your request, and cannot open one as things are. This is why:`,
      reason,
      "Should this change, or should we have misunderstood, you are welcome to ask again.",
    ],
  });
}

export function questionMail(
  { email, organizationName }: AccountRequestMailContent,
  question: string,
  url: string,
): NewMail {
  return composeRequestMail(
    email,
    "account_request_question",
    `A question about your request for ${organizationName}`,
    {
      title: "We have a question",
      paragraphs: [
        `Thank you for asking for an account for ${organizationName}. Before we can go on, we should like to know:`,
        question,
      ],
      action: { label: "Answer", url },
      footnote: `The link is good for 14 days, and for one answer. ${IGNORE_FOOTNOTE}`,
    },
  );
}

function composeRequestMail(to: string, kind: string, subject: string, content: MailContent): NewMail {
  return { to, kind, subject, ...composeMail(content) };
}
