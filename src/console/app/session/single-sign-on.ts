/** Starts single sign-on, and explains how it ended. */
import { ApiError, OfflineError } from "../api/client.ts";
import { basePath, serverUrl } from "../api/server-url.ts";
import type { Session } from "./session.ts";

/** By the `error` parameter of the sign-in page, which the server sets. */
const messages: Readonly<Record<string, string>> = {
  sso_cancelled: "You cancelled the sign-in at your identity provider.",
  sso_clock:
    "The clock of your identity provider differs from ours by more than five minutes. Ask your administrator to synchronise it with a time server.",
  sso_email_unverified:
    "Your identity provider has not verified your e-mail address. Ask your administrator to have it verified.",
  sso_expired: "This sign-in has expired or was already used. Start again.",
  sso_failed: "Your identity provider sent an answer that we can’t accept. Tell your administrator.",
  sso_refused:
    "No account here belongs to you at this identity provider. Open the link of your invitation, or ask an owner of your organisation to invite you.",
  sso_suspended: "Your organisation is suspended. Contact the operator of this service.",
  sso_unavailable: "Your identity provider does not answer. Try again in a few minutes.",
  sso_wrong_account:
    "The invitation is for another e-mail address than yours at your identity provider, or you already have an account here. Nothing was changed. Sign in there as the invited user, then open the link again.",
};

/** Null without an error. An unknown code has the general message: anyone can write one into a link. */
export function ssoErrorMessage(code: string | undefined): string | null {
  return code === undefined ? null : (messages[code] ?? messages["sso_failed"] ?? null);
}

export interface SsoStart {
  provider: "operators" | "organization" | "invitation";
  /** Of the link of an invitation or registration, which the sign-in accepts. */
  token?: string;
  /** Selects the provider of an organisation. */
  email?: string;
  /** The page to open after signing in, as a path of the router. */
  callbackURL?: string;
  /** Ask the user again, also if they are signed in at the provider. */
  confirm?: boolean;
}

/** Leaves the page for the identity provider. Throws ApiError and OfflineError. */
export async function startSingleSignOn(body: SsoStart): Promise<void> {
  const response = await fetch(serverUrl("auth/sign-in/social"), {
    method: "POST",
    credentials: "same-origin",
    headers: { Accept: "application/json", "Content-Type": "application/json" },
    body: JSON.stringify(body),
  }).catch((error: unknown) => {
    throw new OfflineError(error);
  });
  const answer = (await response.json().catch(() => ({}))) as {
    url?: string;
    code?: string;
    message?: string;
  };
  if (response.ok && answer.url !== undefined) {
    location.assign(answer.url);
    return;
  }
  const { code = "", message = "Unexpected response from the server." } = answer;
  const error = { code, message, details: null };
  throw new ApiError(response, { request_id: "", success: false, data: null, error });
}

/** Confirms the user's identity at their provider, and returns to the page. */
export function confirmWithSingleSignOn({ user }: Session): Promise<void> {
  const { pathname, search } = location;
  return startSingleSignOn({
    ...(user.role === "operator"
      ? { provider: "operators" }
      : { provider: "organization", email: user.email }),
    callbackURL: `/${pathname.slice(basePath.length)}${search}`,
    confirm: true,
  });
}
