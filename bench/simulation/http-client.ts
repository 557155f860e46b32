/** Sends requests over keep-alive connections. */
import { Pool } from "undici";
import type { LoadRequest } from "../load.ts";

export interface HttpClient extends AsyncDisposable {
  /** Throws if the status is not 200, or if a GraphQL response has errors. */
  sendOk(request: LoadRequest): Promise<Record<string, unknown>>;
}

const CONNECTIONS = 48;
const TIMEOUT_MS = 30_000;

export function openHttpClient(url: string): HttpClient {
  const pool = new Pool(url, { connections: CONNECTIONS });
  return {
    async sendOk({ method, path, key, body }) {
      const response = await pool.request({
        method,
        path,
        headers: { "x-api-key": key, ...(body && { "content-type": "application/json" }) },
        body: body ?? null,
        headersTimeout: TIMEOUT_MS,
        bodyTimeout: TIMEOUT_MS,
      });
      const text = await response.body.text();
      if (response.statusCode !== 200) throw new Error(`${response.statusCode} ${text.slice(0, 200)}`);
      const answer = JSON.parse(text) as Record<string, unknown>;
      if (answer["errors"] !== undefined) throw new Error(`GraphQL: ${text.slice(0, 300)}`);
      return answer;
    },
    [Symbol.asyncDispose]: () => pool.close(),
  };
}
