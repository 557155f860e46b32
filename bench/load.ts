/**
 * The load generator, in its own process: raw sockets and a minimal parser, so that it costs little CPU. In a closed loop each
 * connection sends its next request when the last one is answered. At a rate, requests are sent at their due time, as by many
 * independent clients; one that gets no connection within 2 s is abandoned.
 */
import { connect, type Socket } from "node:net";
import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import { exponentialGapMs } from "./random.ts";

export interface LoadRequest {
  method: "GET" | "PATCH" | "POST";
  path: string;
  key: string;
  body?: string;
  /** The kind of request, for results by kind. */
  kind?: string;
}

/** Replaced by a new number for each request, so that a PATCH which is sent again is a change. */
export const NUMBER_PLACEHOLDER = "0000000000";

export interface LoadPhase {
  name: string;
  connections: number;
  /** Null: until each request was sent once, in a closed loop. */
  seconds: number | null;
  /** Requests per second, at the times of a Poisson process. Null: a closed loop. */
  rate: number | null;
}

export interface LoadJob {
  url: string;
  /** Sent in rotation. */
  requests: readonly LoadRequest[];
  /** Run one after the other, without a pause. */
  phases: readonly LoadPhase[];
}

/** One request, with times since the start of its phase, which is the phase of its due time. */
export interface SentRequest {
  kind: string;
  phase: string;
  dueMs: number;
  sentMs: number;
  answeredMs: number;
  /** HTTP status; 0 if no connection was free within 2 s or the connection broke. */
  status: number;
}

const CONNECTION_WAIT_MS = 2_000;
/** A timer ends up to 1 ms late. The last of a wait is polled instead, which takes CPU from the measured server. */
const MIN_TIMER_MS = 1;

process.on("message", (job: LoadJob) => void run(job).then((sent) => process.send?.(sent)));

interface DueRequest {
  phase: LoadPhase;
  /** Due time on this process's clock. */
  atMs: number;
  startedMs: number;
}

type Send = (due: DueRequest) => Promise<void>;

async function run({ url, requests, phases }: LoadJob): Promise<SentRequest[]> {
  const { hostname, port } = new URL(url);
  const encoded = requests.map((request) => encodeRequest(request, hostname));
  const results: SentRequest[] = [];
  const open: Socket[] = [];
  let count = 0;

  const openConnection = async (): Promise<{ socket: Socket; exchange: Exchange }> => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const socket = connect({ host: hostname, port: Number(port), noDelay: true }, resolve);
    socket.on("error", reject);
    await promise;
    open.push(socket);
    return { socket, exchange: createExchange(socket) };
  };
  const createConnection = async (): Promise<Send> => {
    let connection = await openConnection();
    return async ({ phase, atMs, startedMs }) => {
      const bytes = numbered(encoded[count % encoded.length] as EncodedRequest, count);
      const { kind = "" } = requests[count % encoded.length] as LoadRequest;
      count += 1;
      // The server closes idle connections.
      if (connection.socket.destroyed) connection = await openConnection();
      const sentMs = performance.now() - startedMs;
      const status = await connection.exchange(bytes).catch(() => 0);
      const answeredMs = performance.now() - startedMs;
      results.push({ kind, phase: phase.name, dueMs: atMs - startedMs, sentMs, answeredMs, status });
    };
  };

  const maxConnections = Math.max(...phases.map(({ connections }) => connections));
  const connections = await Promise.all(Array.from({ length: maxConnections }, createConnection));
  const queue = createDispatchQueue(connections, ({ phase, atMs, startedMs }) => {
    const times = { dueMs: atMs - startedMs, sentMs: Number.NaN, answeredMs: Number.NaN };
    results.push({ kind: "", phase: phase.name, ...times, status: 0 });
  });
  for (const phase of phases) {
    const startedMs = performance.now();
    const untilMs = startedMs + (phase.seconds ?? Infinity) * 1000;
    const isOver = (): boolean =>
      phase.seconds === null ? count >= requests.length : performance.now() >= untilMs;
    if (phase.rate !== null) {
      await sendAtRate(phase.rate, { startedMs, untilMs }, (atMs) => queue.send({ phase, atMs, startedMs }));
      continue;
    }
    await Promise.all(
      connections.slice(0, phase.connections).map(async (send) => {
        while (!isOver()) await send({ phase, atMs: performance.now(), startedMs });
      }),
    );
  }
  await queue.untilDone();
  for (const socket of open) socket.destroy();
  return results;
}

async function sendAtRate(
  rate: number,
  { startedMs, untilMs }: { startedMs: number; untilMs: number },
  send: (atMs: number) => void,
): Promise<void> {
  for (let atMs = startedMs; atMs < untilMs;) {
    for (const nowMs = performance.now(); atMs <= nowMs && atMs < untilMs; atMs += exponentialGapMs(rate))
      send(atMs);
    const waitMs = atMs - performance.now();
    await (waitMs > MIN_TIMER_MS ? pause(waitMs - MIN_TIMER_MS) : nextTurn());
  }
}

/** Sends each request on a free connection; without one, requests wait in order of their due time. */
function createDispatchQueue(connections: readonly Send[], giveUp: (due: DueRequest) => void) {
  const free = [...connections];
  const waiting: DueRequest[] = [];
  let busy = 0;
  let idle = Promise.withResolvers<void>();

  const next = (): DueRequest | undefined => {
    for (;;) {
      const due = waiting.shift();
      if (!due || performance.now() - due.atMs < CONNECTION_WAIT_MS) return due;
      giveUp(due);
    }
  };
  const use = async (send: Send, first: DueRequest): Promise<void> => {
    busy += 1;
    for (let due: DueRequest | undefined = first; due; due = next()) await send(due);
    busy -= 1;
    free.push(send);
    if (busy === 0) idle.resolve();
  };
  return {
    send(due: DueRequest): void {
      const send = free.pop();
      if (send) void use(send, due);
      else waiting.push(due);
    },
    async untilDone(): Promise<void> {
      while (busy > 0) {
        await idle.promise;
        idle = Promise.withResolvers<void>();
      }
    },
  };
}

interface EncodedRequest {
  bytes: Buffer;
  /** Positions of NUMBER_PLACEHOLDER in `bytes`. */
  numberOffsets: number[];
}

function encodeRequest({ method, path, key, body = "" }: LoadRequest, host: string): EncodedRequest {
  const content =
    body === "" ? "" : `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`;
  const bytes = Buffer.from(
    `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nX-Api-Key: ${key}\r\n${content}\r\n${body}`,
  );
  const numberOffsets: number[] = [];
  for (let at = bytes.indexOf(NUMBER_PLACEHOLDER); at !== -1; at = bytes.indexOf(NUMBER_PLACEHOLDER, at + 1))
    numberOffsets.push(at);
  return { bytes, numberOffsets };
}

function numbered({ bytes, numberOffsets }: EncodedRequest, number: number): Buffer {
  if (numberOffsets.length === 0) return bytes;
  const copy = Buffer.from(bytes);
  const digits = String(number + 1).padStart(NUMBER_PLACEHOLDER.length, "0");
  for (const place of numberOffsets) copy.write(digits, place, "latin1");
  return copy;
}

/** Sends one request and resolves with the status of its response. */
type Exchange = (bytes: Buffer) => Promise<number>;

/** Parses only what our servers send. */
function createExchange(socket: Socket): Exchange {
  let pending: PromiseWithResolvers<number> | null = null;
  let status: number | null = null;
  let head = "";
  let remainingBytes = 0;

  socket.on("data", (chunk: Buffer) => {
    if (status !== null) remainingBytes -= chunk.length;
    else {
      head += chunk.toString("latin1");
      const end = head.indexOf("\r\n\r\n");
      if (end === -1) return;
      status = Number(head.slice(9, 12));
      remainingBytes = end + 4 + Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1]) - head.length;
    }
    if (remainingBytes > 0) return;
    const done = status;
    status = null;
    head = "";
    pending?.resolve(done);
  });
  const closed = (): void => pending?.reject(new Error("The server closed a connection under load"));
  socket.on("close", closed);

  return (bytes) => {
    pending = Promise.withResolvers<number>();
    if (socket.destroyed) closed();
    else socket.write(bytes);
    return pending.promise;
  };
}
