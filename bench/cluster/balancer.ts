/**
 * A small load balancer for tests: round robin over the APIs whose /health/ready returns 200, with keep-alive connections. It
 * never retries, not even a refused connection, so every request that a server fails to answer counts as a failure.
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
  /** Base URLs such as `http://127.0.0.1:4000`. A server may stop and start again at its URL. */
  readonly backends: readonly string[];
  readonly checkEveryMs?: number;
  readonly port?: number;
}

export interface Balancer extends AsyncDisposable {
  readonly url: string;
  readonly unanswered: readonly UnansweredRequest[];
  /** Base URLs of the backends that are ready now. */
  activeUrls(): string[];
}

interface WatchedBackend extends Backend {
  readonly url: string;
  isReady: boolean;
  /** Consecutive health checks without a response. */
  missedChecks: number;
}

const CHECK_EVERY_MS = 200;
const MAX_MISSED_CHECKS = 3;
/** Shorter than the servers' idle timeout, so that a server never closes a connection that is about to be used. */
const IDLE_MS = 30_000;

/** Resolves once it listens and has checked each backend. */
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

/** A status other than 200 excludes the backend immediately; missing responses exclude it after three checks in a row. */
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
