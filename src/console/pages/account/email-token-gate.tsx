/** Shows a page that was opened from an e-mail if its link is valid, and explains what to do if it is not. */
import { IconLinkOff } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { FormResult } from "../../components/forms/form-result.tsx";
import { PageHeader } from "../../components/layout/page-header.tsx";
import { ErrorState, LoadingState } from "../../components/status/page-states.tsx";
import { useEmailToken, type EmailTokenKind, type EmailTokenView } from "./use-email-token.ts";

interface EmailTokenGateProps {
  kind: EmailTokenKind;
  title: string;
  /** What to do if the link is invalid. */
  invalidHint: ReactNode;
  /** A link or button for the next step. */
  nextAction: ReactNode;
  children: (valid: { token: string; link: EmailTokenView }) => ReactNode;
}

export function EmailTokenGate({ kind, title, invalidHint, nextAction, children }: EmailTokenGateProps) {
  const { state, retry } = useEmailToken(kind);
  if (state.stage === "valid") return children(state);
  if (state.stage === "failed") return <ErrorState error={state.error} onRetry={retry} />;
  if (state.stage === "invalid") {
    return (
      <FormResult icon={IconLinkOff} title="This link is no longer valid" action={nextAction}>
        It has been used, has expired, or was replaced by a newer one. {invalidHint}
      </FormResult>
    );
  }
  return (
    <>
      <PageHeader title={title} />
      <LoadingState rows={3} />
    </>
  );
}
