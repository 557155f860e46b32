/** Fetches small documents from servers that a user names, such as identity providers, through the address guard. */
import { Agent, request } from "undici";
import type { AddressGuard } from "./address-guard.ts";

const CONNECT_MS = 5_000;
const TOTAL_MS = 10_000;
const MAX_BYTES = 256 * 1024;

export interface FetchOptions {
  readonly method?: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface GuardedFetch extends AsyncDisposable {
  /** Follows no redirect and decompresses nothing. Rejects after 10 s, above 256 KiB, and for a blocked URL or IP address. */
  fetch(url: string, options?: FetchOptions): Promise<Response>;
}

export function createGuardedFetch(guard: AddressGuard): GuardedFetch {
  const dispatcher = new Agent({
    connect: guard.connector(CONNECT_MS, undefined),
    maxResponseSize: MAX_BYTES,
    connections: 8,
  });
  return {
    async fetch(url, options = {}) {
      const problem = guard.urlProblem(new URL(url));
      if (problem) throw new Error(`${url} ${problem.message}`);
      const signal = AbortSignal.timeout(TOTAL_MS);
      const { statusCode, body } = await request(url, { ...options, dispatcher, signal });
      const text = await body.text();
      return new Response(statusCode === 204 || statusCode === 304 ? null : text, { status: statusCode });
    },
    [Symbol.asyncDispose]: () => dispatcher.destroy(),
  };
}
