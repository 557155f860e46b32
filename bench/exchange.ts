/** HTTP on a bare socket, one request after the other: it knows what our servers send, and costs a load next to nothing. */
import { connect, type Socket } from "node:net";

interface Sendable {
  readonly method: string;
  readonly path: string;
  readonly key: string;
  readonly body?: string;
}

export function toBytes({ method, path, key, body = "" }: Sendable, host: string): Buffer {
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

interface Answer {
  status: string;
  length: number;
}

export function exchangesOn(socket: Socket): (bytes: Buffer) => Promise<Answer> {
  let settle: PromiseWithResolvers<Answer> | null = null;
  let answer: Answer | null = null;
  let head = "";
  let missing = 0;

  socket.on("data", (chunk: Buffer) => {
    if (answer) missing -= chunk.length;
    else {
      head += chunk.toString("latin1");
      const end = head.indexOf("\r\n\r\n");
      if (end === -1) return;
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1]);
      answer = { status: head.slice(9, 12), length: end + 4 + length };
      missing = answer.length - head.length;
    }
    if (missing > 0) return;
    const done = answer;
    answer = null;
    head = "";
    settle?.resolve(done);
  });
  const closed = (): void => settle?.reject(new Error("The server closed a connection under load"));
  socket.on("close", closed);

  return (bytes) => {
    settle = Promise.withResolvers<Answer>();
    if (socket.destroyed) closed();
    else socket.write(bytes);
    return settle.promise;
  };
}
