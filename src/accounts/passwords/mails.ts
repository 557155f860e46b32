/** What people are written about their password and their second factor. */
import { composeMail, type NewMail } from "../../mail/api.ts";

/** Where a forgotten password is replaced. */
export const FORGOTTEN_PASSWORD_PATH = "/forgotten-password";

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
export function twoFactorChangedMail(email: string, isOn: boolean, url: string): NewMail {
  const change = isOn ? "turned on" : "turned off";
  return {
    to: email,
    kind: isOn ? "two_factor_enabled" : "two_factor_disabled",
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

/** `url`: of the page where a forgotten password is replaced. */
export function twoFactorResetMail(email: string, url: string): NewMail {
  return {
    to: email,
    kind: "two_factor_reset",
    subject: "Your second factor was turned off by us",
    ...composeMail({
      title: "Your second factor was turned off by us",
      paragraphs: [
        "We have turned the second factor of your account off, as for somebody who has lost it, and signed you out everywhere.",
        "Your password alone signs you in now. Do so, and set up a new second factor on the Security page.",
        "If you did not ask us for this, somebody has asked in your name. Choose a new password at once, and tell us.",
      ],
      action: { label: "I did not ask for this", url },
    }),
  };
}
