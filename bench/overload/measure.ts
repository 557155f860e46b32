/** One mixture: what the server can at all, what it does in calm, and at three times what it can. */
import { once } from "node:events";
import type { BenchDatabase } from "../database.ts";
import { endProcess, startProcess, STARTED_WITH, startServer } from "../servers.ts";
import { bindTo, cores } from "./cores.ts";
import type { Phase, Sent, TrafficJob, TrafficRequest } from "./protocol.ts";

export interface MeasureOptions {
  database: BenchDatabase;
  requests: readonly TrafficRequest[];
  /** Of overload; the other phases are shorter. */
  seconds: number;
  onProgress: (text: string) => void;
}

export interface Measured {
  /** Answers a second. */
  capacity: number;
  phases: MeasuredPhase[];
}

export interface MeasuredPhase {
  phase: Phase;
  isProtected: boolean;
  sent: Sent[];
}

/** Enough to keep the server busy, without a line. */
const CLOSED_LOOP = 16;
/** As a balancer with many partners behind it would hold. */
const CONNECTIONS = 256;
const CALM = 0.3;
const OVERLOAD = 3;

export const phaseNames = {
  capacity: "capacity",
  calm: "30 %",
  overload: "300 %",
  after: "30 % again",
} as const;

export async function measureOverload(options: MeasureOptions): Promise<Measured> {
  const { seconds, onProgress } = options;
  const short = Math.max(5, seconds / 3);
  onProgress("capacity, then three times that, without protection");
  const warmUp: Phase = { name: "warm-up", seconds: short / 2, rate: null, connections: CLOSED_LOOP };
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
  const overload = open(phaseNames.overload, OVERLOAD, seconds);
  const without = { ...overload, seconds: short };
  const sentWithout = await unprotected.run([without]);
  await unprotected[Symbol.asyncDispose]();

  onProgress("the same with protection");
  await using protectedSide = await startSide(options, true);
  const calm = open(phaseNames.calm, CALM, short);
  const after = open(phaseNames.after, CALM, short);
  const sent = await protectedSide.run([{ ...calm, name: warmUp.name }, calm, overload, after]);
  return {
    capacity,
    phases: [
      { phase: closed, isProtected: false, sent: of(found, closed) },
      { phase: without, isProtected: false, sent: sentWithout },
      ...[calm, overload, after].map((phase) => ({ phase, isProtected: true, sent: of(sent, phase) })),
    ],
  };
}

function of(sent: readonly Sent[], { name }: Phase): Sent[] {
  return sent.filter(({ phase }) => phase === name);
}

interface StartedSide extends AsyncDisposable {
  run(phases: readonly Phase[]): Promise<Sent[]>;
}

/** A server, and the process that sends it requests, each bound to its core. */
async function startSide({ database, requests }: MeasureOptions, isProtected: boolean): Promise<StartedSide> {
  await using opened = new AsyncDisposableStack();
  // Most connections rest while less is asked.
  const env = { OVERLOAD_PROTECTION: isProtected ? "on" : "off", KEEP_ALIVE_TIMEOUT: "10m" };
  const server = opened.use(await startServer("waymark", database.url, STARTED_WITH, env));
  bindTo(cores?.server, server.pid);
  const load = startProcess("overload/generator.ts", {}, []);
  opened.defer(() => endProcess(load));
  bindTo(cores?.load, load.pid as number);
  const ended = once(load, "exit").then(() => Promise.reject(new Error("The load ended early")));
  ended.catch(() => undefined);
  const held = opened.move();
  return {
    async run(phases) {
      const job: TrafficJob = { url: server.url, requests, phases };
      load.send(job);
      const [sent] = (await Promise.race([once(load, "message"), ended])) as [Sent[]];
      return sent;
    },
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}
