/** Shows a page of a mail's link where the link is good, and says kindly where it is not. */
import { IconLinkOff } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { FormResult } from "../../components/forms/form-result.tsx";
import { PageHeader } from "../../components/layout/page-header.tsx";
import { ErrorState, LoadingState } from "../../components/status/page-states.tsx";
import { useEmailToken, type EmailTokenKind, type EmailTokenView } from "./use-email-token.ts";

interface EmailTokenGateProps {
  kind: EmailTokenKind;
  title: string;
  /** What to do where the link is not good any more. */
  invalidHint: ReactNode;
  /** The way on from there. */
  nextAction: ReactNode;
  children: (good: { token: string; link: EmailTokenView }) => ReactNode;
}

export function EmailTokenGate({ kind, title, invalidHint, nextAction, children }: EmailTokenGateProps) {
  const { state, retry } = useEmailToken(kind);
  if (state.stage === "good") return children(state);
  if (state.stage === "failed") return <ErrorState error={state.error} onRetry={retry} />;
  if (state.stage === "gone") {
    return (
      <FormResult icon={IconLinkOff} title="This link is not good any more" action={nextAction}>
        It was used, has expired, or a newer one was sent. {invalidHint}
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
