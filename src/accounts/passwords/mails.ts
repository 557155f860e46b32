/** Mails about a user's password, passkeys and two-factor authentication. */
import { composeMail, type NewMail } from "../../mail/api.ts";

/** The page that requests a password reset link: the `url` of the mails about changes. */
export const FORGOTTEN_PASSWORD_PATH = "/forgotten-password";

/** `url`: the page that sets a new password, with the token. */
export function passwordResetMail(email: string, url: string): NewMail {
  return composeMail(email, "password_reset", {
    title: "Choose a new password",
    paragraphs: [
      "Someone, probably you, asked to reset the password of the Waymark account with this e-mail address.",
      "The link works once and expires after one hour. Choosing a new password signs you out on all devices.",
    ],
    action: { label: "Choose a new password", url },
    footnote: "If you didn't ask for this, you can ignore it. Your password won't change.",
  });
}

export function passwordChangedMail(email: string, url: string): NewMail {
  return composeMail(email, "password_changed", {
    title: "Your password was changed",
    paragraphs: [
      "The password of your Waymark account has just been changed. If you changed it, there is nothing more to do.",
      "If you didn't change it, someone else may be able to sign in as you. Choose a new password now, and let us know.",
    ],
    action: { label: "This wasn't me", url },
  });
}

export function twoFactorChangedMail(email: string, isOn: boolean, url: string): NewMail {
  const change = isOn ? "turned on" : "turned off";
  return composeMail(email, isOn ? "two_factor_enabled" : "two_factor_disabled", {
    title: `Two-factor authentication was ${change}`,
    paragraphs: [
      `Two-factor authentication has just been ${change} for your Waymark account. If you did this, there is nothing more to do.`,
      "If you didn't, someone else knows your password. Choose a new one now, and let us know.",
    ],
    action: { label: "This wasn't me", url },
  });
}

export function passkeyChangedMail(
  email: string,
  { name, isAdded, url }: { name: string; isAdded: boolean; url: string },
): NewMail {
  const change = isAdded ? "added to" : "removed from";
  return composeMail(email, isAdded ? "passkey_added" : "passkey_removed", {
    title: `A passkey was ${isAdded ? "added" : "removed"}`,
    paragraphs: [
      `The passkey "${name}" has just been ${change} your Waymark account. If you did this, there is nothing more to do.`,
      "If you didn't, someone else can sign in as you. Choose a new password now, remove unknown passkeys on the Security page, and let us know.",
    ],
    action: { label: "This wasn't me", url },
  });
}

export function twoFactorResetMail(email: string, url: string): NewMail {
  return composeMail(email, "two_factor_reset", {
    title: "We turned off two-factor authentication for your account",
    paragraphs: [
      "We turned off two-factor authentication for your Waymark account, as we do when someone has lost their authenticator app, and signed you out on all devices.",
      "You can now sign in with your password alone. Sign in, then turn two-factor authentication on again on the Security page.",
      "If you didn't ask us to do this, someone may have asked in your name. Choose a new password now, and let us know.",
    ],
    action: { label: "I didn't ask for this", url },
  });
}
