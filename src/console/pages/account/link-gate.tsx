/** Shows a page of a mail's link where the link is good, and says kindly where it is not. */
import { IconLinkOff } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { Outcome } from "../../components/outcome.tsx";
import { PageHeader } from "../../components/page-header.tsx";
import { ErrorState, LoadingState } from "../../components/states.tsx";
import { useLink, type LinkKind, type LinkView } from "./link.ts";

interface LinkGateProps {
  kind: LinkKind;
  title: string;
  /** What to do where the link is not good any more. */
  whenGone: ReactNode;
  /** The way on from there. */
  wayOn: ReactNode;
  children: (good: { token: string; link: LinkView }) => ReactNode;
}

export function LinkGate({ kind, title, whenGone, wayOn, children }: LinkGateProps) {
  const { state, retry } = useLink(kind);
  if (state.stage === "good") return children(state);
  if (state.stage === "failed") return <ErrorState error={state.error} onRetry={retry} />;
  if (state.stage === "gone") {
    return (
      <Outcome icon={IconLinkOff} title="This link is not good any more" action={wayOn}>
        It was used, has expired, or a newer one was sent. {whenGone}
      </Outcome>
    );
  }
  return (
    <>
      <PageHeader title={title} />
      <LoadingState rows={3} />
    </>
  );
}
