/** Requests to the balancer, over connections that are kept. */
import { Pool } from "undici";
import type { LoadRequest } from "../load.ts";

export interface Reply {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: string;
}

export interface Calls extends AsyncDisposable {
  send(
    request: Pick<LoadRequest, "method" | "path" | "body">,
    headers: Record<string, string>,
  ): Promise<Reply>;
  /** Throws where the answer is not 200, or is one of GraphQL with errors. */
  ask(request: LoadRequest): Promise<Record<string, unknown>>;
  readonly url: string;
}

const CONNECTIONS = 48;
const PATIENCE_MS = 30_000;

export function openCalls(url: string): Calls {
  const pool = new Pool(url, { connections: CONNECTIONS });
  const send: Calls["send"] = async ({ method, path, body }, headers) => {
    const response = await pool.request({
      method,
      path,
      headers: { ...headers, ...(body && { "content-type": "application/json" }) },
      body: body ?? null,
      headersTimeout: PATIENCE_MS,
      bodyTimeout: PATIENCE_MS,
    });
    return { status: response.statusCode, headers: response.headers, body: await response.body.text() };
  };
  return {
    url,
    send,
    async ask(request) {
      const { status, body } = await send(request, { "x-api-key": request.key });
      if (status !== 200) throw new Error(`${status} ${body.slice(0, 200)}`);
      const answer = JSON.parse(body) as Record<string, unknown>;
      if (answer["errors"] !== undefined) throw new Error(`GraphQL: ${body.slice(0, 300)}`);
      return answer;
    },
    [Symbol.asyncDispose]: () => pool.close(),
  };
}
