/** A minimal HTTP client on a raw socket, one request at a time. It parses only what our servers send. */
import { connect, type Socket } from "node:net";

interface RawRequest {
  readonly method: string;
  readonly path: string;
  readonly key: string;
  readonly body?: string;
}

export function encodeRequest({ method, path, key, body = "" }: RawRequest, host: string): Buffer {
  const content =
    body === "" ? "" : `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`;
  return Buffer.from(
    `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nX-Api-Key: ${key}\r\n${content}\r\n${body}`,
  );
}

export async function openConnection(host: string, port: number): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = connect({ host, port, noDelay: true }, resolve);
  socket.on("error", reject);
  await promise;
  return socket;
}

interface RawResponse {
  status: string;
  length: number;
}

export function createExchange(socket: Socket): (bytes: Buffer) => Promise<RawResponse> {
  let pending: PromiseWithResolvers<RawResponse> | null = null;
  let answer: RawResponse | null = null;
  let head = "";
  let remainingBytes = 0;

  socket.on("data", (chunk: Buffer) => {
    if (answer) remainingBytes -= chunk.length;
    else {
      head += chunk.toString("latin1");
      const end = head.indexOf("\r\n\r\n");
      if (end === -1) return;
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1]);
      answer = { status: head.slice(9, 12), length: end + 4 + length };
      remainingBytes = answer.length - head.length;
    }
    if (remainingBytes > 0) return;
    const done = answer;
    answer = null;
    head = "";
    pending?.resolve(done);
  });
  const closed = (): void => pending?.reject(new Error("The server closed a connection under load"));
  socket.on("close", closed);

  return (bytes) => {
    pending = Promise.withResolvers<RawResponse>();
    if (socket.destroyed) closed();
    else socket.write(bytes);
    return pending.promise;
  };
}
