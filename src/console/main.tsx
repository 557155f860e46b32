/** The console's entry: finds out who is signed in, then shows the page of the address. */
import { MantineProvider, localStorageColorSchemeManager } from "@mantine/core";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import "@mantine/core/styles.css";
import "./theme/global.css";
import { whenUnauthorized } from "./app/api.ts";
import { takeLinkToken } from "./app/link-token.ts";
import { rememberPresses } from "./app/return-focus.ts";
import { createConsoleRouter, preloadPage } from "./app/router.tsx";
import { createSessionStore, SessionProvider } from "./app/session.ts";
import { StartGate } from "./app/start-gate.tsx";
import { cssVariables, theme } from "./theme/theme.ts";

takeLinkToken();
rememberPresses();
// A browser may keep a page that was left as it was, and show it again to whoever goes back, after signing out too.
window.addEventListener("pageshow", ({ persisted }) => {
  if (persisted) window.location.reload();
});
const session = createSessionStore();
const router = createConsoleRouter({ session });
whenUnauthorized(() => session.end());
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
          <StartGate>
            <RouterProvider router={router} />
          </StartGate>
        </SessionProvider>
      </MantineProvider>
    </StrictMode>,
  );
}
