/** Mails about invitations. */
import { composeMail, type NewMail } from "../../mail/api.ts";
import type { Invitation } from "./entity.ts";

/** Its organisation must be loaded. */
type Invited = Pick<Invitation, "email" | "invitedBy" | "organization">;

const groupNameOf = ({ organization }: Invited): string => organization?.name ?? "the Waymark operators";

export function invitationMail(invitation: Invited, url: string): NewMail {
  const { email, invitedBy } = invitation;
  const groupName = groupNameOf(invitation);
  return composeMail(email, "invitation", {
    subject: `${invitedBy} has invited you to join ${groupName}`,
    title: `Join ${groupName}`,
    paragraphs: [
      `${invitedBy} has invited you to join ${groupName}. Waymark is a service for following and updating delivery jobs.`,
      "To accept, open the link and follow the steps. The link works once and expires after 72 hours. If it has expired, ask the person who invited you to send it again.",
    ],
    action: { label: "Accept the invitation", url },
    footnote: "If you weren't expecting this, you can ignore it. Nothing happens unless you use the link.",
  });
}

/** The inviting organisation doesn't learn that the e-mail address already has an account; only its owner gets this mail. */
export function existingAccountInvitationMail(invitation: Invited): NewMail {
  const { email, invitedBy } = invitation;
  const groupName = groupNameOf(invitation);
  return composeMail(email, "invitation_elsewhere", {
    subject: `${invitedBy} has invited you to join ${groupName}`,
    title: `You have been invited to join ${groupName}`,
    paragraphs: [
      `${invitedBy} has invited you to join ${groupName}. You can't accept with this e-mail address, because it already has a Waymark account and can have only one.`,
      `To join ${groupName} as well, ask ${invitedBy} to invite you at a different e-mail address. To move there instead, have your present account removed first, then ask for a new invitation.`,
    ],
    footnote: "If you weren't expecting this, you can ignore it. Your account hasn't changed.",
  });
}
