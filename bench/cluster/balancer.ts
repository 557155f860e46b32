/**
 * A small balancer, to be in front of the APIs what a real one would be, and no kinder than the least kind: one API after
 * the other, of those whose /health/ready says so, over connections that are kept. It tries nothing twice, so that whatever
 * a server does not answer is a failure; not even a connection that is refused.
 */
import { once } from "node:events";
import { Agent, createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import type { Backend, BalancerParts, Unanswered } from "./backend.ts";
import { forward } from "./forward.ts";
import { readinessOf } from "./readiness.ts";
import { tunnel } from "./tunnel.ts";

export interface BalancerOptions {
  /** Addresses, such as `http://127.0.0.1:4000`, that servers come and go at. */
  readonly backends: readonly string[];
  readonly checkEveryMs?: number;
  readonly port?: number;
}

export interface Balancer extends AsyncDisposable {
  readonly url: string;
  readonly unanswered: readonly Unanswered[];
  /** The addresses that are sent requests now. */
  inService(): string[];
}

interface Watched extends Backend {
  readonly url: string;
  isReady: boolean;
  /** How many times in a row it has not answered. */
  silences: number;
}

const CHECK_EVERY_MS = 200;
const SILENCES = 3;
/** Shorter than the servers': they never close a connection that a request may be on its way on. */
const IDLE_MS = 30_000;

/** Resolves once it listens and has looked at each of the backends. */
export async function startBalancer(options: BalancerOptions): Promise<Balancer> {
  const { checkEveryMs = CHECK_EVERY_MS } = options;
  const backends = options.backends.map(watched);
  const unanswered: Unanswered[] = [];
  const parts = { choose: roundRobin(backends), onUnanswered: (one: Unanswered) => unanswered.push(one) };
  const server = createServer((request, response) => forward(request, response, parts));
  const sockets = new Set<Socket>();
  server.on("upgrade", (request, socket, head) => tunnel(request, socket as Socket, { ...parts, head }));
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });

  const stopping = new AbortController();
  await Promise.all(backends.map(look));
  const watches = backends.map((backend) => watch(backend, checkEveryMs, stopping.signal));
  server.listen(options.port ?? 0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    unanswered,
    inService: () => backends.filter((backend) => backend.isReady).map(({ url }) => url),
    async [Symbol.asyncDispose]() {
      stopping.abort();
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      for (const { agent } of backends) agent.destroy();
      await Promise.all([closed, ...watches]);
    },
  };
}

function watched(url: string): Watched {
  const { hostname, port } = new URL(url);
  const agent = new Agent({ keepAlive: true, timeout: IDLE_MS });
  return { url, hostname, port: Number(port), agent, isReady: false, silences: 0 };
}

function roundRobin(backends: readonly Watched[]): BalancerParts["choose"] {
  let turn = 0;
  return () => {
    for (let step = 0; step < backends.length; step += 1) {
      turn = (turn + 1) % backends.length;
      const backend = backends[turn];
      if (backend?.isReady) return backend;
    }
    return null;
  };
}

/** Who says no is out at once; who does not answer may be busy, or its answer lost. */
async function look(backend: Watched): Promise<void> {
  const status = await readinessOf(backend.url);
  backend.silences = status === null ? backend.silences + 1 : 0;
  if (status !== null) backend.isReady = status === 200;
  else if (backend.silences >= SILENCES) backend.isReady = false;
}

async function watch(backend: Watched, everyMs: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await look(backend);
    await pause(everyMs, undefined, { signal, ref: false }).catch(() => undefined);
  }
}
