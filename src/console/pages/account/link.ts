/** What a mail's link is good for, asked of the server before a form is shown. */
import { useCallback, useEffect, useState } from "react";
import { api, ApiError } from "../../app/api.ts";
import { linkToken } from "../../app/link-token.ts";

export type LinkKind = "registration" | "invitation" | "password_reset" | "account_request_answer";

export interface LinkView {
  kind: LinkKind;
  email: string;
  organization_name: string | null;
  question: string | null;
  expires_at: string;
}

export type LinkState =
  | { stage: "checking" }
  | { stage: "good"; token: string; link: LinkView }
  /** Used, expired, void, of another kind, or come without: told in one way. */
  | { stage: "gone" }
  | { stage: "failed"; error: unknown };

/** `retry` asks again where it could not be learnt. */
export function useLink(kind: LinkKind): { state: LinkState; retry: () => void } {
  const [state, setState] = useState<LinkState>({ stage: "checking" });
  const check = useCallback(() => {
    learn(kind).then(setState, (error: unknown) => setState({ stage: "failed", error }));
  }, [kind]);
  useEffect(check, [check]);
  const retry = (): void => {
    setState({ stage: "checking" });
    check();
  };
  return { state, retry };
}

async function learn(kind: LinkKind): Promise<LinkState> {
  const token = linkToken();
  if (token === null) return { stage: "gone" };
  try {
    const link = await api.anonymous.post<LinkView>("auth/links/check", { token });
    return link.kind === kind ? { stage: "good", token, link } : { stage: "gone" };
  } catch (error) {
    if (error instanceof ApiError && [400, 404, 410].includes(error.status)) return { stage: "gone" };
    throw error;
  }
}
