/** Entry point of the console: loads the session, then shows the page for the URL. */
import { MantineProvider, localStorageColorSchemeManager, Center } from "@mantine/core";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode, useCallback, useEffect, useState, type ReactNode } from "react";
import { createRoot } from "react-dom/client";
import "@mantine/core/styles/baseline.layer.css";
import "@mantine/core/styles/global.layer.css";
import "./theme/global.css";
import { setUnauthorizedHandler } from "./app/api/client.ts";
import { captureUrlToken } from "./app/session/url-token.ts";
import { trackLastPressed } from "./app/interaction/return-focus.ts";
import { createConsoleRouter, preloadPage, repairUrl } from "./app/router.tsx";
import { createSessionStore, SessionProvider, useSessionStore } from "./app/session/session.ts";
import { cssVariables, theme } from "./theme/theme.ts";
import { Splash } from "./components/status/splash.tsx";
import { ErrorState } from "./components/status/page-states.tsx";

repairUrl();
captureUrlToken();
trackLastPressed();
// Browsers restore pages from the back/forward cache, even after signing out.
window.addEventListener("pageshow", ({ persisted }) => {
  if (persisted) window.location.reload();
});
const session = createSessionStore();
const router = createConsoleRouter({ session });
setUnauthorizedHandler(() => session.end());
preloadPage(router);

const colorSchemes = localStorageColorSchemeManager({ key: "waymark-color-scheme" });
const nonce = document.querySelector<HTMLMetaElement>("meta[property=csp-nonce]")?.nonce ?? "";
// react-style-singleton, which dialogs use, reads the nonce from here.
Object.assign(globalThis, { __webpack_nonce__: nonce });
const container = document.querySelector("#root");

if (container) {
  createRoot(container).render(
    <StrictMode>
      <MantineProvider
        theme={theme}
        cssVariablesResolver={cssVariables}
        colorSchemeManager={colorSchemes}
        defaultColorScheme="auto"
        getStyleNonce={() => nonce}
        // Writes the default variables too, whose style sheet would have 4 kB.
        deduplicateCssVariables={false}
      >
        <SessionProvider value={session}>
          <SessionGate>
            <RouterProvider router={router} />
          </SessionGate>
        </SessionProvider>
      </MantineProvider>
    </StrictMode>,
  );
}

type SessionLoadState = { kind: "loading" } | { kind: "loaded" } | { kind: "failed"; error: unknown };

/** Loads the session before anything is shown, and shows an error if that fails. */
function SessionGate({ children }: { children: ReactNode }) {
  const store = useSessionStore();
  const [state, setState] = useState<SessionLoadState>({ kind: "loading" });
  const load = useCallback(() => {
    store.load().then(
      () => setState({ kind: "loaded" }),
      (error: unknown) => setState({ kind: "failed", error }),
    );
  }, [store]);
  useEffect(load, [load]);
  if (state.kind === "loaded") return children;
  if (state.kind === "loading") return <Splash />;
  return (
    <Center component="main" mih="100dvh">
      <ErrorState error={state.error} onRetry={load} />
    </Center>
  );
}
