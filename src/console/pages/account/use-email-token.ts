/** Checks the token of a link from an e-mail before a form is shown. */
import { useCallback, useEffect, useState } from "react";
import { api, ApiError } from "../../app/api/client.ts";
import { getUrlToken } from "../../app/session/url-token.ts";

export type EmailTokenKind = "registration" | "invitation" | "password_reset" | "account_request_answer";

export interface EmailTokenView {
  kind: EmailTokenKind;
  email: string;
  organization_name: string | null;
  /** `offered`: single sign-on can accept the link too; `required`: a password would not sign in. */
  single_sign_on: "offered" | "required" | null;
  question: string | null;
  expires_at: string;
}

export type EmailTokenState =
  | { stage: "checking" }
  | { stage: "valid"; token: string; link: EmailTokenView }
  /** Used, expired, revoked, of another kind, or missing. */
  | { stage: "invalid" }
  | { stage: "failed"; error: unknown };

/** `retry` checks again after a failure. */
export function useEmailToken(kind: EmailTokenKind): { state: EmailTokenState; retry: () => void } {
  const [state, setState] = useState<EmailTokenState>({ stage: "checking" });
  const check = useCallback(() => {
    checkToken(kind).then(setState, (error: unknown) => setState({ stage: "failed", error }));
  }, [kind]);
  useEffect(check, [check]);
  const retry = (): void => {
    setState({ stage: "checking" });
    check();
  };
  return { state, retry };
}

async function checkToken(kind: EmailTokenKind): Promise<EmailTokenState> {
  const token = getUrlToken();
  if (token === null) return { stage: "invalid" };
  try {
    const link = await api.anonymous.post<EmailTokenView>("auth/links/check", { token });
    return link.kind === kind ? { stage: "valid", token, link } : { stage: "invalid" };
  } catch (error) {
    if (error instanceof ApiError && [400, 404, 410].includes(error.status)) return { stage: "invalid" };
    throw error;
  }
}
