/**
 * A small balancer, to be in front of the APIs what a real one would be, and no kinder than the least kind: one API after
 * the other, of those whose /health/ready says so, over connections that are kept. It tries nothing twice, so that whatever
 * a server does not answer is a failure; not even a connection that is refused.
 */
import { once } from "node:events";
import { Agent, createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import type { Backend, BalancerDeps, UnansweredRequest } from "./backend.ts";
import { forward } from "./forward.ts";
import { fetchReadiness } from "./readiness.ts";
import { tunnel } from "./websocket-tunnel.ts";

export interface BalancerOptions {
  /** Addresses, such as `http://127.0.0.1:4000`, that servers come and go at. */
  readonly backends: readonly string[];
  readonly checkEveryMs?: number;
  readonly port?: number;
}

export interface Balancer extends AsyncDisposable {
  readonly url: string;
  readonly unanswered: readonly UnansweredRequest[];
  /** The addresses that are sent requests now. */
  activeUrls(): string[];
}

interface WatchedBackend extends Backend {
  readonly url: string;
  isReady: boolean;
  /** How many times in a row it has not answered. */
  missedChecks: number;
}

const CHECK_EVERY_MS = 200;
const MAX_MISSED_CHECKS = 3;
/** Shorter than the servers': they never close a connection that a request may be on its way on. */
const IDLE_MS = 30_000;

/** Resolves once it listens and has looked at each of the backends. */
export async function startBalancer(options: BalancerOptions): Promise<Balancer> {
  const { checkEveryMs = CHECK_EVERY_MS } = options;
  const backends = options.backends.map(createWatchedBackend);
  const unanswered: UnansweredRequest[] = [];
  const deps = {
    choose: roundRobin(backends),
    onUnanswered: (one: UnansweredRequest) => unanswered.push(one),
  };
  const server = createServer((request, response) => forward(request, response, deps));
  const sockets = new Set<Socket>();
  server.on("upgrade", (request, socket, head) => tunnel(request, socket as Socket, { ...deps, head }));
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });

  const stopping = new AbortController();
  await Promise.all(backends.map(checkBackend));
  const watches = backends.map((backend) => watchBackend(backend, checkEveryMs, stopping.signal));
  server.listen(options.port ?? 0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    unanswered,
    activeUrls: () => backends.filter((backend) => backend.isReady).map(({ url }) => url),
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

function createWatchedBackend(url: string): WatchedBackend {
  const { hostname, port } = new URL(url);
  const agent = new Agent({ keepAlive: true, timeout: IDLE_MS });
  return { url, hostname, port: Number(port), agent, isReady: false, missedChecks: 0 };
}

function roundRobin(backends: readonly WatchedBackend[]): BalancerDeps["choose"] {
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
async function checkBackend(backend: WatchedBackend): Promise<void> {
  const status = await fetchReadiness(backend.url);
  backend.missedChecks = status === null ? backend.missedChecks + 1 : 0;
  if (status !== null) backend.isReady = status === 200;
  else if (backend.missedChecks >= MAX_MISSED_CHECKS) backend.isReady = false;
}

async function watchBackend(backend: WatchedBackend, everyMs: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await checkBackend(backend);
    await pause(everyMs, undefined, { signal, ref: false }).catch(() => undefined);
  }
}
