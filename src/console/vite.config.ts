/** How the console is built, and served in development. */
import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig, loadEnv } from "vite";

/** Placeholder that the server replaces with a fresh nonce in each response. */
const NONCE = "WAYMARK_NONCE";

/**
 * Merges the modules of the first pages into a few chunks. Measured for the dashboard: 17 files instead of 51, at the
 * same size.
 */
const groups = [
  { name: "base", tags: ["$initial" as const], priority: 3 },
  { name: "icons", test: /@tabler/, minShareCount: 2, priority: 2 },
  { name: "data", test: /node_modules\/(@apollo|@wry|graphql|graphql-ws|optimism|rxjs)\//, priority: 1 },
];

export default defineConfig(({ command, mode }) => ({
  root: import.meta.dirname,
  // Relative to the page's `<base>`, because the service may run under a path prefix behind a proxy.
  base: command === "build" ? "./" : "/",
  plugins: [react()],
  html: command === "build" ? { cspNonce: NONCE } : {},
  build: {
    outDir: fileURLToPath(new URL("../../.site/console", import.meta.url)),
    emptyOutDir: true,
    target: "es2023",
    // The content security policy allows no `data:` scripts or fonts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    manifest: "manifest.json",
    rolldownOptions: { output: { codeSplitting: { groups } } },
  },
  server: {
    host: "127.0.0.1",
    port: 4001,
    strictPort: true,
    proxy: proxyTo(
      loadEnv(mode, import.meta.dirname, "WAYMARK_API")["WAYMARK_API"] ?? "http://127.0.0.1:4000",
    ),
  },
}));

/** Forwards API paths to the API server in development (default port 4000; override with WAYMARK_API). */
function proxyTo(target: string) {
  return {
    "^/(auth|v1|docs|health|openapi.json|console-api|operator/agenda)(/|$)": { target },
    "^/graphql$": { target, ws: true },
  };
}
