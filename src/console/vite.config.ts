/** How the console is built, and served while it is worked on. */
import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig, loadEnv } from "vite";

/** What the server puts a nonce of its own in the place of, in each answer. */
const NONCE = "WAYMARK_NONCE";

/**
 * What the first pages need comes in a few files in the place of dozens; what single pages need stays apart. Measured: 17
 * files instead of 51 for the dashboard, and not a byte more.
 */
const groups = [
  { name: "base", tags: ["$initial" as const], priority: 3 },
  { name: "icons", test: /@tabler/, minShareCount: 2, priority: 2 },
  { name: "data", test: /node_modules\/(@apollo|@wry|graphql|graphql-ws|optimism|rxjs)\//, priority: 1 },
];

export default defineConfig(({ command, mode }) => ({
  root: import.meta.dirname,
  // Relative to the page's `<base>`: behind a proxy the service may stand under a path of its own.
  base: command === "build" ? "./" : "/",
  plugins: [react()],
  html: command === "build" ? { cspNonce: NONCE } : {},
  build: {
    outDir: fileURLToPath(new URL("../../.console", import.meta.url)),
    emptyOutDir: true,
    target: "es2023",
    // The policy allows no `data:` script or font, and small icons are few.
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

/** What the API's own server answers while the console is worked on; WAYMARK_API names another one. */
function proxyTo(target: string) {
  return {
    "^/(auth|v1|docs|health|openapi.json|console-api|operator/agenda)(/|$)": { target },
    "^/graphql$": { target, ws: true },
  };
}
