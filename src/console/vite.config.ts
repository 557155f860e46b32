/** How the console is built, and served in development. */
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig, loadEnv, type Plugin } from "vite";

/** Placeholder that the server replaces with a fresh nonce in each response. */
const NONCE = "WAYMARK_NONCE";

/**
 * Few files for the first page, each with all that its modules import, unless an earlier group has it. A module that needs menus
 * or dialogs is left out of `ui`, which every page loads.
 */
const groups = [
  { name: "base", tags: ["$initial" as const], priority: 5 },
  {
    name: "inputs",
    test: /@tabler|components\/layout\/page-header|components\/status\/alert|@mantine\/core\/esm\/components\/(CloseButton|TextInput)\//,
    minShareCount: 2,
    priority: 4,
  },
  {
    name: "shell",
    test: /app\/layout\/shell\.tsx$|@apollo\/client\/react|app\/interaction\/use-throttled|app\/api\/use-refetch|integrations\/polling|hooks\/esm\/(use-disclosure|use-isomorphic-effect|utils)/,
    priority: 3,
  },
  {
    name: "ui",
    test: /console\/components\/(tables\/(?!row-actions)|status\/|layout\/(?!guide-menu-item)|display\/timestamp|forms\/search-field)|pages\/jobs\/(job\.labels|job\.category|job\.due|use-reference-data|filters\/jobs\.variables|list\/jobs\.module)/,
    minShareCount: 2,
    priority: 2,
  },
  {
    name: "forms",
    test: /components\/forms\/|interaction\/use-submit|interaction\/focus-on-mount|@mantine\/form|app\/session\/(single-sign-on|sign-in)/,
    minShareCount: 2,
    priority: 1,
  },
];

/**
 * Each component of Mantine brings its own style sheet, so that a page loads only those that it shows. They are in a layer, which
 * our rules override in any order of loading.
 */
const stylesOfMantine: Plugin = {
  name: "styles-of-mantine",
  transform: {
    filter: { id: /@mantine\/core\/esm\/.*\.module\.mjs$/ },
    handler: (code, id) => `import "@mantine/core/styles/${basename(id, ".module.mjs")}.layer.css";\n${code}`,
  },
};

export default defineConfig(({ command, mode }) => ({
  root: import.meta.dirname,
  // Relative to the page's `<base>`, because the service may run under a path prefix behind a proxy.
  base: command === "build" ? "./" : "/",
  plugins: [react(), stylesOfMantine],
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
