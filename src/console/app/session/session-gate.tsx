/** Loads the session before anything is shown, and shows an error if that fails. */
import { Center } from "@mantine/core";
import { useCallback, useEffect, useState, type ReactNode } from "react";
import { Splash } from "../../components/status/splash.tsx";
import { ErrorState } from "../../components/status/page-states.tsx";
import { useSessionStore } from "./session.ts";

type SessionLoadState = { kind: "loading" } | { kind: "loaded" } | { kind: "failed"; error: unknown };

export function SessionGate({ children }: { children: ReactNode }) {
  const session = useSessionStore();
  const [state, setState] = useState<SessionLoadState>({ kind: "loading" });
  const load = useCallback(() => {
    session.load().then(
      () => setState({ kind: "loaded" }),
      (error: unknown) => setState({ kind: "failed", error }),
    );
  }, [session]);
  useEffect(load, [load]);
  if (state.kind === "loaded") return children;
  if (state.kind === "loading") return <Splash />;
  return (
    <Center component="main" mih="100dvh">
      <ErrorState error={state.error} onRetry={load} />
    </Center>
  );
}
