/** Nothing is shown before it is known who is signed in; where that cannot be learnt, it says so. */
import { Center } from "@mantine/core";
import { useCallback, useEffect, useState, type ReactNode } from "react";
import { Splash } from "../../components/status/splash.tsx";
import { ErrorState } from "../../components/status/page-states.tsx";
import { useSessionStore } from "./session.ts";

type SessionLoadState = { kind: "asking" } | { kind: "known" } | { kind: "failed"; error: unknown };

export function SessionGate({ children }: { children: ReactNode }) {
  const session = useSessionStore();
  const [state, setState] = useState<SessionLoadState>({ kind: "asking" });
  const load = useCallback(() => {
    session.load().then(
      () => setState({ kind: "known" }),
      (error: unknown) => setState({ kind: "failed", error }),
    );
  }, [session]);
  useEffect(load, [load]);
  if (state.kind === "known") return children;
  if (state.kind === "asking") return <Splash />;
  return (
    <Center component="main" mih="100dvh">
      <ErrorState error={state.error} onRetry={load} />
    </Center>
  );
}
