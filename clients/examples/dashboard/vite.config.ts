/** Serves the page, and forwards `/graphql` to Waymark with the API key, which the page never sees. */
import type { IncomingMessage } from "node:http";
import react from "@vitejs/plugin-react";
import { defineConfig, loadEnv, type ProxyOptions } from "vite";

export default defineConfig(({ command, mode }) => {
  // The build needs no key.
  const proxy: Record<string, ProxyOptions> = command === "serve" ? { "^/graphql$": waymarkProxy(mode) } : {};
  return { plugins: [react()], server: { proxy }, preview: { proxy } };
});

function waymarkProxy(mode: string): ProxyOptions {
  const env = loadEnv(mode, import.meta.dirname, "WAYMARK_");
  return {
    target: required(env, "WAYMARK_URL", "the URL of Waymark, such as http://127.0.0.1:4000"),
    headers: { "x-api-key": required(env, "WAYMARK_KEY", "an API key with the scope jobs:read") },
    changeOrigin: true,
    ws: true,
    rewriteWsOrigin: true,
    bypass: (request) => (isFromThisPage(request) ? undefined : false),
  };
}

function required(env: Record<string, string>, name: string, meaning: string): string {
  const value = env[name];
  if (!value) throw new Error(`Set ${name} to ${meaning}, in the environment or in the file .env`);
  return value;
}

/** Pages of other sites can send requests to this server too. They get no access through its key. */
function isFromThisPage({ headers }: IncomingMessage): boolean {
  const { origin = "", host } = headers;
  // The origin of a page in a sandboxed frame is "null".
  return URL.canParse(origin) && new URL(origin).host === host;
}
