/** The console's entry: finds out who is signed in, then shows the page of the address. */
import { MantineProvider, localStorageColorSchemeManager } from "@mantine/core";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import "@mantine/core/styles.css";
import "./theme/global.css";
import { setUnauthorizedHandler } from "./app/api/client.ts";
import { captureUrlToken } from "./app/session/url-token.ts";
import { trackLastPressed } from "./app/interaction/return-focus.ts";
import { createConsoleRouter, preloadPage } from "./app/router.tsx";
import { createSessionStore, SessionProvider } from "./app/session/session.ts";
import { SessionGate } from "./app/session/session-gate.tsx";
import { cssVariables, theme } from "./theme/theme.ts";

captureUrlToken();
trackLastPressed();
// A browser may keep a page that was left as it was, and show it again to whoever goes back, after signing out too.
window.addEventListener("pageshow", ({ persisted }) => {
  if (persisted) window.location.reload();
});
const session = createSessionStore();
const router = createConsoleRouter({ session });
setUnauthorizedHandler(() => session.end());
preloadPage(router);

const colorSchemes = localStorageColorSchemeManager({ key: "waymark-color-scheme" });
const nonce = document.querySelector<HTMLMetaElement>("meta[property=csp-nonce]")?.nonce ?? "";
// How those who know no other way (react-style-singleton, below every dialog) ask for it.
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
