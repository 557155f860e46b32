/** Sends requests to the balancer over keep-alive connections. */
import { Pool } from "undici";
import type { LoadRequest } from "../load.ts";

export interface HttpReply {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: string;
}

export interface HttpClient extends AsyncDisposable {
  send(
    request: Pick<LoadRequest, "method" | "path" | "body">,
    headers: Record<string, string>,
  ): Promise<HttpReply>;
  /** Throws if the status is not 200, or if a GraphQL response has errors. */
  sendOk(request: LoadRequest): Promise<Record<string, unknown>>;
  readonly url: string;
}

const CONNECTIONS = 48;
const TIMEOUT_MS = 30_000;

export function openHttpClient(url: string): HttpClient {
  const pool = new Pool(url, { connections: CONNECTIONS });
  const send: HttpClient["send"] = async ({ method, path, body }, headers) => {
    const response = await pool.request({
      method,
      path,
      headers: { ...headers, ...(body && { "content-type": "application/json" }) },
      body: body ?? null,
      headersTimeout: TIMEOUT_MS,
      bodyTimeout: TIMEOUT_MS,
    });
    return { status: response.statusCode, headers: response.headers, body: await response.body.text() };
  };
  return {
    url,
    send,
    async sendOk(request) {
      const { status, body } = await send(request, { "x-api-key": request.key });
      if (status !== 200) throw new Error(`${status} ${body.slice(0, 200)}`);
      const answer = JSON.parse(body) as Record<string, unknown>;
      if (answer["errors"] !== undefined) throw new Error(`GraphQL: ${body.slice(0, 300)}`);
      return answer;
    },
    [Symbol.asyncDispose]: () => pool.close(),
  };
}
