/** Entry point of the console: loads the session, then shows the page for the URL. */
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
