/** HTTP as bytes on a socket: requests that no client library would send. */
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from "node:http";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import type { ApiResponse } from "./app-instance.ts";

/** A connection that is open, from `localAddress` where one is named (on Linux all of 127.0.0.0/8 is this machine). */
export async function openRawSocket(url: string, localAddress?: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), ...(localAddress && { localAddress }) });
  // That the other end has broken it off is told by its close.
  socket.on("error", () => undefined);
  await once(socket, "connect");
  return socket;
}

/** Sends `bytes` and answers with everything that came back until the server closed the connection. */
export async function sendBytes(url: string, bytes: string | Uint8Array): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write(bytes);
  return await text(socket);
}

/** The last answer in `received`: one may stand after a `100 Continue`. */
export function parseLastResponse(received: string): ApiResponse {
  const start = received.lastIndexOf("HTTP/1.1 ");
  const [head = "", body = ""] = received.slice(start).split("\r\n\r\n", 2);
  const [statusLine = "", ...lines] = head.split("\r\n");
  const headers = new Headers(
    lines.map((line): [string, string] => [
      line.slice(0, line.indexOf(":")),
      line.slice(line.indexOf(":") + 1),
    ]),
  );
  return { status: Number(statusLine.split(" ")[1]), headers, body: JSON.parse(body) as ApiResponse["body"] };
}

export interface RawRequest {
  method?: string;
  headers?: OutgoingHttpHeaders;
  body?: string | Uint8Array;
  /** Whether the request is left open, its body never coming. */
  isUnfinished?: boolean;
}

/** A request whose path is sent as it is written, dots, slashes and all; `fetch` would put it in order first. */
export async function sendRawRequest(
  url: string,
  path: string,
  { method = "GET", headers = {}, body, isUnfinished = false }: RawRequest = {},
): Promise<ApiResponse> {
  const { hostname, port } = new URL(url);
  const request = httpRequest({ hostname, port, path, method, headers });
  if (isUnfinished) request.flushHeaders();
  else request.end(body);
  const [response] = (await once(request, "response")) as [IncomingMessage];
  const received = new Headers();
  for (const [name, value] of Object.entries(response.headers)) received.set(name, String(value));
  const answer = await text(response);
  if (isUnfinished) request.destroy();
  return {
    status: response.statusCode ?? 0,
    headers: received,
    body: (answer === "" ? null : JSON.parse(answer)) as ApiResponse["body"],
  };
}
