/**
 * The load generator, in its own process. It sends requests at their due time, whether or not earlier ones are answered, as
 * many independent clients would. Connections are limited; a request that gets none within 2 s is abandoned.
 */
import type { Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { exponentialGapMs } from "../random.ts";
import { createExchange, openConnection, encodeRequest } from "../raw-http-client.ts";
import {
  NUMBER_PLACEHOLDER,
  type Phase,
  type SentRequest,
  type TrafficJob,
  type TrafficRequest,
} from "./protocol.ts";

const CONNECTION_WAIT_MS = 2_000;

process.on("message", (job: TrafficJob) => void run(job).then((sent) => process.send?.(sent)));

interface EncodedRequest {
  kind: string;
  bytes: Buffer;
  /** Positions of NUMBER_PLACEHOLDER in `bytes`. */
  numberOffsets: number[];
}

type Send = (due: DueRequest) => Promise<void>;

interface DueRequest {
  phase: Phase;
  /** Due time on this process's clock. */
  atMs: number;
  startedMs: number;
}

async function run({ url, requests, phases }: TrafficJob): Promise<SentRequest[]> {
  const { hostname, port } = new URL(url);
  const encoded = requests.map((request) => encodeTrafficRequest(request, hostname));
  const results: SentRequest[] = [];
  const open: Socket[] = [];
  let numbers = 0;

  const begin = async (): Promise<{ socket: Socket; exchange: ReturnType<typeof createExchange> }> => {
    const socket = await openConnection(hostname, Number(port));
    open.push(socket);
    return { socket, exchange: createExchange(socket) };
  };
  const connect = async (): Promise<Send> => {
    let connection = await begin();
    return async ({ phase, atMs, startedMs }) => {
      const { kind, bytes } = withNumber(encoded[numbers % encoded.length] as EncodedRequest, (numbers += 1));
      // The server closes idle connections.
      if (connection.socket.destroyed) connection = await begin();
      const sentMs = performance.now();
      const { status } = await connection.exchange(bytes).catch(() => ({ status: "0" }));
      const answeredMs = performance.now() - startedMs;
      const [dueMs, wasSentMs] = [atMs - startedMs, sentMs - startedMs];
      results.push({ kind, phase: phase.name, dueMs, sentMs: wasSentMs, answeredMs, status: Number(status) });
    };
  };

  const maxConnections = Math.max(...phases.map(({ connections }) => connections));
  const connections = await Promise.all(Array.from({ length: maxConnections }, connect));
  const waiting = createDispatchQueue(connections, (due) => results.push(abandonedRequest(due)));
  for (const phase of phases) {
    if (phase.rate === null) await closedLoop(phase, connections);
    else await openLoop(phase, phase.rate, (due) => waiting.send(due));
  }
  await waiting.untilDone();
  for (const socket of open) socket.destroy();
  return results;
}

function encodeTrafficRequest(request: TrafficRequest, host: string): EncodedRequest {
  const bytes = encodeRequest(request, host);
  const numberOffsets: number[] = [];
  for (let at = bytes.indexOf(NUMBER_PLACEHOLDER); at !== -1; at = bytes.indexOf(NUMBER_PLACEHOLDER, at + 1))
    numberOffsets.push(at);
  return { kind: request.kind, bytes, numberOffsets };
}

function withNumber(
  { kind, bytes, numberOffsets }: EncodedRequest,
  number: number,
): { kind: string; bytes: Buffer } {
  if (numberOffsets.length === 0) return { kind, bytes };
  const copy = Buffer.from(bytes);
  for (const place of numberOffsets)
    copy.write(String(number).padStart(NUMBER_PLACEHOLDER.length, "0"), place, "latin1");
  return { kind, bytes: copy };
}

async function closedLoop(phase: Phase, connections: readonly Send[]): Promise<void> {
  const startedMs = performance.now();
  const untilMs = startedMs + phase.seconds * 1000;
  await Promise.all(
    connections.slice(0, phase.connections).map(async (send) => {
      for (let atMs = startedMs; atMs < untilMs; atMs = performance.now())
        await send({ phase, atMs, startedMs });
    }),
  );
}

/** Sends requests at the times of a Poisson process. It never sleeps: a timer can be 1 ms late and would cause bursts. */
async function openLoop(phase: Phase, rate: number, send: (due: DueRequest) => void): Promise<void> {
  const startedMs = performance.now();
  const untilMs = startedMs + phase.seconds * 1000;
  let atMs = startedMs;
  while (atMs < untilMs) {
    for (const nowMs = performance.now(); atMs <= nowMs && atMs < untilMs; atMs += exponentialGapMs(rate))
      send({ phase, atMs, startedMs });
    await nextTurn();
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

function abandonedRequest({ phase, atMs, startedMs }: DueRequest): SentRequest {
  const dueMs = atMs - startedMs;
  return { kind: "", phase: phase.name, dueMs, sentMs: Number.NaN, answeredMs: Number.NaN, status: 0 };
}
