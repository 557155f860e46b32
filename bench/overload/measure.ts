/** Measures one mixture of requests: the server's capacity, then its behaviour at 30 %, 300 % and again 30 % of it. */
import { execFileSync } from "node:child_process";
import { get } from "node:http";
import { cpus } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import { onProgress } from "../environment.ts";
import type { LoadPhase, LoadRequest, SentRequest } from "../load.ts";
import { startLoadGenerator, startServer } from "../servers.ts";

export interface OverloadOptions {
  databaseUrl: string;
  requests: readonly LoadRequest[];
  /** Duration of the overload; the other phases last a third of it, at least 5 s. */
  seconds: number;
}

export interface OverloadResult {
  /** Responses with status 200 per second. */
  capacity: number;
  phases: MeasuredPhase[];
  /** How long `GET /health/live` took during the overload, on new connections as an orchestrator opens them. */
  livenessMs: number[];
}

export interface MeasuredPhase {
  phase: LoadPhase;
  isProtected: boolean;
  sent: SentRequest[];
}

/** Enough to keep the server busy without queueing. */
const CLOSED_LOOP_CONNECTIONS = 16;
/** As many as a balancer with many clients would hold. */
const CONNECTIONS = 256;
const BASELINE_LOAD = 0.3;
const OVERLOAD_LOAD = 3;

export const phaseNames = {
  capacity: "capacity",
  calm: "30 %",
  overload: "300 %",
  after: "30 % again",
} as const;

export async function measureOverload(options: OverloadOptions): Promise<OverloadResult> {
  const { seconds } = options;
  const short = Math.max(5, seconds / 3);
  onProgress("measuring the capacity, and three times that without protection");
  const warmUp: LoadPhase = {
    name: "warm-up",
    seconds: short / 2,
    rate: null,
    connections: CLOSED_LOOP_CONNECTIONS,
  };
  const closed: LoadPhase = { ...warmUp, name: phaseNames.capacity, seconds: short };
  await using unprotected = await startSide(options, false);
  const found = await unprotected.run([warmUp, closed]);
  const capacity =
    found.filter(({ phase, status }) => phase === closed.name && status === 200).length / short;
  const open = (name: string, times: number, lasting: number): LoadPhase => ({
    name,
    seconds: lasting,
    rate: capacity * times,
    connections: CONNECTIONS,
  });
  const overload = open(phaseNames.overload, OVERLOAD_LOAD, seconds);
  const without = { ...overload, seconds: short };
  const sentWithout = await unprotected.run([without]);
  await unprotected[Symbol.asyncDispose]();

  onProgress("measuring with protection");
  await using protectedSide = await startSide(options, true);
  const calm = open(phaseNames.calm, BASELINE_LOAD, short);
  const after = open(phaseNames.after, BASELINE_LOAD, short);
  const probing = probeLiveness(protectedSide.url, { afterS: short * 2, seconds });
  const sent = await protectedSide.run([{ ...calm, name: warmUp.name }, calm, overload, after]);
  return {
    capacity,
    livenessMs: await probing,
    phases: [
      { phase: closed, isProtected: false, sent: requestsOfPhase(found, closed) },
      { phase: without, isProtected: false, sent: sentWithout },
      ...[calm, overload, after].map((phase) => ({
        phase,
        isProtected: true,
        sent: requestsOfPhase(sent, phase),
      })),
    ],
  };
}

const PROBE_INTERVAL_MS = 100;

async function probeLiveness(
  url: string,
  { afterS, seconds }: { afterS: number; seconds: number },
): Promise<number[]> {
  await pause(afterS * 1_000);
  const probes: Promise<number>[] = [];
  for (const endMs = performance.now() + seconds * 1_000; performance.now() < endMs;) {
    probes.push(probe(`${url}/health/live`));
    await pause(PROBE_INTERVAL_MS);
  }
  return await Promise.all(probes);
}

/** Returns the milliseconds to the end of the response; infinite without one. */
async function probe(url: string): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  const sentMs = performance.now();
  const request = get(url, { agent: false }, (response) => {
    response.resume().once("end", () => resolve(performance.now() - sentMs));
  });
  request.once("error", () => resolve(Infinity));
  return await promise;
}

function requestsOfPhase(sent: readonly SentRequest[], { name }: LoadPhase): SentRequest[] {
  return sent.filter(({ phase }) => phase === name);
}

interface RunningSide extends AsyncDisposable {
  readonly url: string;
  run(phases: readonly LoadPhase[]): Promise<SentRequest[]>;
}

/** Starts a server and a load generator, each bound to its core. */
async function startSide(
  { databaseUrl, requests }: OverloadOptions,
  isProtected: boolean,
): Promise<RunningSide> {
  await using opened = new AsyncDisposableStack();
  // Most connections are idle in the phases with less load.
  const env = { LOAD_SHEDDING: isProtected ? "on" : "off", KEEP_ALIVE_TIMEOUT: "10m" };
  const server = opened.use(await startServer("waymark", databaseUrl, { env }));
  pinToCore("server", server.pid);
  const load = opened.use(startLoadGenerator());
  pinToCore("load", load.pid);
  const resources = opened.move();
  return {
    url: server.url,
    run: (phases) => load.run({ url: server.url, requests, phases }),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

const CORES = { server: 0, load: 1 };

/**
 * Binds a process and those that it starts later to the core of the server (with PostgreSQL) or of the load, so that the load takes no
 * CPU time from the server. Only Linux can.
 */
export function pinToCore(part: keyof typeof CORES, pid: number): void {
  if (process.platform === "linux" && cpus().length > 1)
    execFileSync("taskset", ["-a", "-c", "-p", String(CORES[part]), String(pid)], { stdio: "ignore" });
}
