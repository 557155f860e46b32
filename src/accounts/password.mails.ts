/** What people are written about their password and their second factor. */
import type { NewMail } from "../mail/mail.service.ts";
import { composeMail } from "../mail/mail.wire.ts";

/** `url`: of the page where a new password is chosen. */
export function passwordResetMail(email: string, url: string): NewMail {
  return {
    to: email,
    kind: "password_reset",
    subject: "Choose a new password",
    ...composeMail({
      title: "Choose a new password",
      paragraphs: [
        "Somebody, probably you, has asked for a new password for this address.",
        "The link is good once, for an hour. With the new password you are signed out everywhere, and sign in again.",
      ],
      action: { label: "Choose a new password", url },
      footnote: "If you did not ask for this, you need not do anything: your password stays as it is.",
    }),
  };
}

/** `url`: of the page where a forgotten password is replaced. */
export function passwordChangedMail(email: string, url: string): NewMail {
  return {
    to: email,
    kind: "password_changed",
    subject: "Your password was changed",
    ...composeMail({
      title: "Your password was changed",
      paragraphs: [
        "The password of your account was changed just now. If that was you, there is nothing to do.",
        "If it was not you, somebody else can sign in as you. Choose a new password at once, and tell us.",
      ],
      action: { label: "It was not me", url },
    }),
  };
}

/** `url`: of the page where a forgotten password is replaced. */
export function secondFactorMail(email: string, isOn: boolean, url: string): NewMail {
  const change = isOn ? "turned on" : "turned off";
  return {
    to: email,
    kind: isOn ? "second_factor_enabled" : "second_factor_disabled",
    subject: `Your second factor was ${change}`,
    ...composeMail({
      title: `Your second factor was ${change}`,
      paragraphs: [
        `The second factor of your account was ${change} just now. If that was you, there is nothing to do.`,
        "If it was not you, somebody else knows your password. Choose a new one at once, and tell us.",
      ],
      action: { label: "It was not me", url },
    }),
  };
}
