/**
 * The load, in a process of its own: a fixed number of keep-alive connections, each sending its next request when the
 * answer to the last has come. Bare sockets and a parser of what our servers send, so that the load costs little.
 */
import { connect, type Socket } from "node:net";

export interface LoadRequest {
  method: "GET" | "PATCH" | "POST";
  path: string;
  key: string;
  body?: string;
}

export interface LoadJob {
  url: string;
  connections: number;
  requests: readonly LoadRequest[];
}

export interface LoadResult {
  wallMs: number;
  latenciesMs: number[];
  /** Answers other than 200, by status; none is expected. */
  failures: Record<string, number>;
  bytes: number;
}

process.on("message", (job: LoadJob) => void run(job).then((result) => process.send?.(result)));

async function run({ url, connections, requests }: LoadJob): Promise<LoadResult> {
  const { hostname, port } = new URL(url);
  const texts = requests.map((request) => toBytes(request, hostname));
  const sockets = await Promise.all(Array.from({ length: connections }, () => open(hostname, Number(port))));
  const result: LoadResult = { wallMs: 0, latenciesMs: [], failures: {}, bytes: 0 };
  let next = 0;
  const startedMs = performance.now();
  await Promise.all(
    sockets.map(async (socket) => {
      const exchange = exchangesOn(socket);
      for (let bytes = texts[next++]; bytes; bytes = texts[next++]) {
        const sentMs = performance.now();
        const { status, length } = await exchange(bytes);
        result.latenciesMs.push(performance.now() - sentMs);
        result.bytes += length;
        if (status !== "200") result.failures[status] = (result.failures[status] ?? 0) + 1;
      }
    }),
  );
  result.wallMs = performance.now() - startedMs;
  for (const socket of sockets) socket.destroy();
  return result;
}

function toBytes({ method, path, key, body = "" }: LoadRequest, host: string): Buffer {
  const content =
    body === "" ? "" : `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`;
  return Buffer.from(
    `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nX-Api-Key: ${key}\r\n${content}\r\n${body}`,
  );
}

async function open(host: string, port: number): Promise<Socket> {
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

function exchangesOn(socket: Socket): (bytes: Buffer) => Promise<Answer> {
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
  socket.on("close", () => settle?.reject(new Error("The server closed a connection under load")));

  return (bytes) => {
    settle = Promise.withResolvers<Answer>();
    socket.write(bytes);
    return settle.promise;
  };
}
