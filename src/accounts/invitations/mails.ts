/** What people are written who are invited. */
import { composeMail, type NewMail } from "../../mail/api.ts";

interface InvitationMailContent {
  readonly email: string;
  /** Of the organisation; null: to the operators of the service. */
  readonly organizationName: string | null;
  readonly invitedBy: string;
}

const IGNORE_FOOTNOTE =
  "If you do not know what this is about, you need not do anything: without you nothing comes of it.";

export function invitationMail(
  { email, organizationName, invitedBy }: InvitationMailContent,
  url: string,
): NewMail {
  const groupName = organizationName ?? "the operators of Waymark";
  const content = composeMail({
    title: `Join ${groupName}`,
    paragraphs: [
      `${invitedBy} invites you to ${groupName} on Waymark, where delivery jobs are followed and updated.`,
      "Choose a name and a password, and you can begin. The link is good once, for 72 hours; whoever invited you can send it again.",
    ],
    action: { label: "Accept the invitation", url },
    footnote: IGNORE_FOOTNOTE,
  });
  return { to: email, kind: "invitation", subject: `${invitedBy} invites you to ${groupName}`, ...content };
}

/** Whoever invites is not told whether the address has an account elsewhere; its owner is. */
export function existingAccountInvitationMail({
  email,
  organizationName,
  invitedBy,
}: InvitationMailContent): NewMail {
  const groupName = organizationName ?? "the operators of Waymark";
  const content = composeMail({
    title: `You were invited to ${groupName}`,
    paragraphs: [
      `${invitedBy} invites you to ${groupName} on Waymark. You have an account with this e-mail address already, and an account belongs to one place.`,
      `To join ${groupName} as well, ask ${invitedBy} to invite another address of yours. To move there, have your present account removed first, and then ask for a new invitation.`,
    ],
    footnote: IGNORE_FOOTNOTE,
  });
  return {
    to: email,
    kind: "invitation_elsewhere",
    subject: `${invitedBy} invites you to ${groupName}`,
    ...content,
  };
}
