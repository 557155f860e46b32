/** Nothing is shown before it is known who is signed in; where that cannot be learnt, it says so. */
import { Center } from "@mantine/core";
import { useCallback, useEffect, useState, type ReactNode } from "react";
import { Starting } from "../components/starting.tsx";
import { ErrorState } from "../components/states.tsx";
import { useSessionStore } from "./session.ts";

type Start = { kind: "asking" } | { kind: "known" } | { kind: "failed"; error: unknown };

export function StartGate({ children }: { children: ReactNode }) {
  const session = useSessionStore();
  const [start, setStart] = useState<Start>({ kind: "asking" });
  const ask = useCallback(() => {
    session.load().then(
      () => setStart({ kind: "known" }),
      (error: unknown) => setStart({ kind: "failed", error }),
    );
  }, [session]);
  useEffect(ask, [ask]);
  if (start.kind === "known") return children;
  if (start.kind === "asking") return <Starting />;
  return (
    <Center component="main" mih="100dvh">
      <ErrorState error={start.error} onRetry={ask} />
    </Center>
  );
}
