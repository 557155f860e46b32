/** What people are written who are invited. */
import type { NewMail } from "../mail/mail.service.ts";
import { composeMail } from "../mail/mail.wire.ts";

interface Invited {
  readonly email: string;
  /** Of the organisation; null: to the operators of the service. */
  readonly organizationName: string | null;
  readonly invitedBy: string;
}

const NOT_YOU =
  "If you do not know what this is about, you need not do anything: without you nothing comes of it.";

export function invitationMail({ email, organizationName, invitedBy }: Invited, url: string): NewMail {
  const place = organizationName ?? "the operators of Waymark";
  const content = composeMail({
    title: `Join ${place}`,
    paragraphs: [
      `${invitedBy} invites you to ${place} on Waymark, where delivery jobs are followed and updated.`,
      "Choose a name and a password, and you can begin. The link is good once, for 72 hours; whoever invited you can send it again.",
    ],
    action: { label: "Accept the invitation", url },
    footnote: NOT_YOU,
  });
  return { to: email, kind: "invitation", subject: `${invitedBy} invites you to ${place}`, ...content };
}

/** Whoever invites is not told whether the address has an account elsewhere; its owner is. */
export function invitedElsewhereMail({ email, organizationName, invitedBy }: Invited): NewMail {
  const place = organizationName ?? "the operators of Waymark";
  const content = composeMail({
    title: `You were invited to ${place}`,
    paragraphs: [
      `${invitedBy} invites you to ${place} on Waymark. You have an account with this e-mail address already, and an account belongs to one place.`,
      `To join ${place} as well, ask ${invitedBy} to invite another address of yours. To move there, have your present account removed first, and then ask for a new invitation.`,
    ],
    footnote: NOT_YOU,
  });
  return {
    to: email,
    kind: "invitation_elsewhere",
    subject: `${invitedBy} invites you to ${place}`,
    ...content,
  };
}
