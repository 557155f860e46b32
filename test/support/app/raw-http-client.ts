/** Sends raw HTTP over sockets, for requests that client libraries refuse to send. */
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from "node:http";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import type { ApiResponse } from "./app-instance.ts";

/** Opens a connection, optionally from a local IP address (on Linux any in 127.0.0.0/8). */
export async function openRawSocket(url: string, localAddress?: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), ...(localAddress && { localAddress }) });
  // A close event follows every error.
  socket.on("error", () => undefined);
  await once(socket, "connect");
  return socket;
}

/** Sends `bytes` and returns all text received until the server closes the connection. */
export async function sendBytes(url: string, bytes: string | Uint8Array): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write(bytes);
  return await text(socket);
}

/** Parses the last response in `received`, which may follow a `100 Continue`. */
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
  /** Sends only the headers and never the body. */
  isUnfinished?: boolean;
}

/** Sends the path unchanged; `fetch` would normalise dots and slashes. */
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
  const responseHeaders = new Headers();
  for (const [name, value] of Object.entries(response.headers)) responseHeaders.set(name, String(value));
  const responseBody = await text(response);
  if (isUnfinished) request.destroy();
  return {
    status: response.statusCode ?? 0,
    headers: responseHeaders,
    body: (responseBody === "" ? null : JSON.parse(responseBody)) as ApiResponse["body"],
  };
}
