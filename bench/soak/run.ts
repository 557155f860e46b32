/** Runs one soak: starts everything, generates traffic, takes samples and checks the deliveries. */
import { readFile } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { MongoClient } from "mongodb";
import { TASKS_COLLECTION } from "../../src/scheduling/task-document.ts";
import { processCpuUs } from "../process-usage.ts";
import {
  checkDeliveries,
  checkSubscriptions,
  reliableEndpointIds,
  waitUntilDrained,
  type DeliveryOutcome,
  type SubscriptionOutcome,
} from "./deliveries.ts";
import type { Point } from "./linear-regression.ts";
import { MAX_WARM_UP_S, SAMPLE_EVERY_MS } from "./plan.ts";
import type { ReceivedTotals, ReceiversCommand } from "./receivers.ts";
import { takeSample, type Sample, type SampleSource } from "./samples.ts";
import { startSoakProcesses, startHelperProcess, type SoakProcess } from "./processes.ts";
import type { TrafficJob, TrafficMessage, TrafficResult } from "./traffic.ts";
import { createSoakDataset } from "./dataset.ts";

export interface SoakOptions {
  minutes: number;
  load: number;
  /** Aborts the run and stops all its processes. */
  signal: AbortSignal;
  onProgress: (text: string) => void;
}

export interface SoakResult {
  minutes: number;
  load: number;
  /** Taken after the warm-up, during the traffic. */
  samples: Sample[];
  /** Heap sizes by process name. */
  heaps: Map<string, Point[]>;
  traffic: TrafficResult;
  deliveries: DeliveryOutcome;
  subscriptions: SubscriptionOutcome;
  /** Requests that the balancer could not get answered by any API. */
  unanswered: number;
  /** Number of warnings and errors in the logs, by message. */
  loggedMessages: LoggedMessages;
  /** CPU seconds per second of the traffic generator, the receivers, and this process with the balancer. */
  ownCpu: number;
}

export interface LoggedMessages {
  warnings: Map<string, number>;
  errors: Map<string, number>;
}

export async function runSoak(options: SoakOptions): Promise<SoakResult> {
  const { minutes, load, signal, onProgress } = options;
  const runMs = minutes * 60_000;
  const warmUpMs = Math.min(MAX_WARM_UP_S * 1_000, runMs / 10);
  await using soak = await startSoakProcesses(onProgress);
  await using receivers = startHelperProcess<ReceiversCommand, unknown>("receivers.ts");
  await using traffic = startHelperProcess<TrafficJob, TrafficMessage>("traffic.ts");
  const { url: receiverUrl } = (await receivers.nextMessage()) as { url: string };
  const dataset = await createSoakDataset(soak, receiverUrl);
  const { organizations, users, seededAt, endpoints } = dataset;
  receivers.send({ do: "expect", secrets: endpoints.map(({ secret }) => secret) });

  const { cluster, client } = soak;
  const { databaseUrl, url } = cluster;
  traffic.send({ url, databaseUrl, organizations, users, seededAt, load, warmUpMs, runMs });
  await traffic.nextMessage();
  onProgress(`traffic starts: ${warmUpMs / 1_000} s warm-up, then ${minutes} minutes`);
  const finished = traffic.nextMessage();
  // Prevents an unhandled rejection while samples are taken; the `await` below still throws.
  finished.catch(() => undefined);
  await pause(warmUpMs, undefined, { signal });
  const ownCpu = (): number =>
    [process.pid, receivers.pid, traffic.pid].reduce((sum, pid) => sum + processCpuUs(pid), 0) / 1e6;
  const before = { cpu: ownCpu(), ms: Date.now() };
  await using mongo = new MongoClient(cluster.mongoUrl);
  const agenda = mongo.db().collection(TASKS_COLLECTION);
  const sampled = { soak, agenda, reliableEndpointIds: reliableEndpointIds(endpoints) };
  const samples = await sampleUntil(sampled, before.ms + runMs, options);
  const ownShare = (ownCpu() - before.cpu) / ((Date.now() - before.ms) / 1_000);
  const message = await finished;
  if (!("result" in message)) throw new Error("The traffic generator sent no result");

  onProgress("the traffic has ended; waiting for pending deliveries");
  const drainedAfterS = await waitUntilDrained(client, endpoints);
  const reported = receivers.nextMessage();
  receivers.send({ do: "report" });
  const received = (await reported) as Map<number, ReceivedTotals>;
  const deliveries = await checkDeliveries(client, endpoints, received);
  return {
    minutes,
    load,
    samples,
    heaps: await readHeaps(soak.processes, before.ms),
    traffic: message.result,
    deliveries: { ...deliveries, drainedAfterS },
    subscriptions: await checkSubscriptions(client, message.result.subscribers.subscriptions),
    unanswered: cluster.balancer.unanswered.length,
    loggedMessages: await readLogs(soak.processes),
    ownCpu: ownShare,
  };
}

async function sampleUntil(
  sampled: SampleSource,
  untilMs: number,
  { signal, onProgress }: SoakOptions,
): Promise<Sample[]> {
  const samples: Sample[] = [];
  for (let number = 0; Date.now() < untilMs; number += 1) {
    const sample = await takeSample(sampled);
    samples.push(sample);
    if (number % 12 === 0) {
      const memory = sample.processes.map(({ name, rssMb }) => `${name} ${Math.round(rssMb)} MB`);
      onProgress(`${Math.round((untilMs - Date.now()) / 1_000)} s left; ${memory.join(", ")}`);
    }
    await pause(SAMPLE_EVERY_MS, undefined, { signal });
  }
  return samples;
}

async function readHeaps(processes: readonly SoakProcess[], fromMs: number): Promise<Map<string, Point[]>> {
  const heaps = new Map<string, Point[]>();
  for (const { name, heapFile } of processes) {
    const text = await readFile(heapFile, "utf8").catch(() => "");
    const points = text
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line) as { atMs: number; mb: number })
      .map(({ atMs, mb }): Point => ({ atMs, value: mb }));
    heaps.set(
      name,
      points.filter(({ atMs }) => atMs >= fromMs),
    );
  }
  return heaps;
}

async function readLogs(processes: readonly SoakProcess[]): Promise<LoggedMessages> {
  const logged: LoggedMessages = { warnings: new Map(), errors: new Map() };
  for (const { logFile } of processes)
    for (const line of (await readFile(logFile, "utf8")).split("\n")) {
      const kind = /^\{"level":"(?:warn|(error|fatal))"/.exec(line);
      if (!kind) continue;
      const counts = kind[1] === undefined ? logged.warnings : logged.errors;
      const message = (JSON.parse(line) as { msg?: string }).msg ?? "";
      counts.set(message, (counts.get(message) ?? 0) + 1);
    }
  return logged;
}
