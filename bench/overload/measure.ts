/** Measures one mixture of requests: the server's capacity, then its behaviour at 30 %, 300 % and again 30 % of it. */
import { once } from "node:events";
import type { BenchDatabase } from "../database.ts";
import { endProcess, startProcess, WAYMARK_NODE_FLAGS, startServer } from "../servers.ts";
import { pinToCore, cores } from "./cpu-affinity.ts";
import type { Phase, SentRequest, TrafficJob, TrafficRequest } from "./protocol.ts";

export interface OverloadOptions {
  database: BenchDatabase;
  requests: readonly TrafficRequest[];
  /** Duration of the overload; the other phases last a third of it, at least 5 s. */
  seconds: number;
  onProgress: (text: string) => void;
}

export interface OverloadResult {
  /** Responses with status 200 per second. */
  capacity: number;
  phases: MeasuredPhase[];
}

export interface MeasuredPhase {
  phase: Phase;
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
  const { seconds, onProgress } = options;
  const short = Math.max(5, seconds / 3);
  onProgress("measuring the capacity, and three times that without protection");
  const warmUp: Phase = {
    name: "warm-up",
    seconds: short / 2,
    rate: null,
    connections: CLOSED_LOOP_CONNECTIONS,
  };
  const closed: Phase = { ...warmUp, name: phaseNames.capacity, seconds: short };
  await using unprotected = await startSide(options, false);
  const found = await unprotected.run([warmUp, closed]);
  const capacity =
    found.filter(({ phase, status }) => phase === closed.name && status === 200).length / short;
  const open = (name: string, times: number, lasting: number): Phase => ({
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
  const sent = await protectedSide.run([{ ...calm, name: warmUp.name }, calm, overload, after]);
  return {
    capacity,
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

function requestsOfPhase(sent: readonly SentRequest[], { name }: Phase): SentRequest[] {
  return sent.filter(({ phase }) => phase === name);
}

interface RunningSide extends AsyncDisposable {
  run(phases: readonly Phase[]): Promise<SentRequest[]>;
}

/** Starts a server and a load generator, each bound to its core. */
async function startSide(
  { database, requests }: OverloadOptions,
  isProtected: boolean,
): Promise<RunningSide> {
  await using opened = new AsyncDisposableStack();
  // Most connections are idle in the phases with less load.
  const env = { LOAD_SHEDDING: isProtected ? "on" : "off", KEEP_ALIVE_TIMEOUT: "10m" };
  const server = opened.use(await startServer("waymark", database.url, WAYMARK_NODE_FLAGS, env));
  pinToCore(cores?.server, server.pid);
  const load = startProcess("overload/generator.ts", {}, []);
  opened.defer(() => endProcess(load));
  pinToCore(cores?.load, load.pid as number);
  const ended = once(load, "exit").then(() => Promise.reject(new Error("The load generator ended early")));
  ended.catch(() => undefined);
  const resources = opened.move();
  return {
    async run(phases) {
      const job: TrafficJob = { url: server.url, requests, phases };
      load.send(job);
      const [sent] = (await Promise.race([once(load, "message"), ended])) as [SentRequest[]];
      return sent;
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
