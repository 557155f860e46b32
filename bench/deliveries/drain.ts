/** Measures how fast, and at what cost, one engine sends a backlog. */
import type { StatementCounts } from "../database.ts";
import { processCpuUs } from "../process-usage.ts";
import { pointEndpoints, type DeliveryDataset } from "./dataset.ts";
import type { DeliveryServers, EngineProcess, Sink } from "./processes.ts";
import { ENDPOINTS, HANGING_ENDPOINTS } from "./protocol.ts";

/** The figures of one drain. CPU microseconds and statements are per delivery. */
export type DrainFigures = Record<
  "perSecond" | "nodeUs" | "postgresUs" | "mongoUs" | "statements" | "duplicates",
  number
>;

export interface DeliveryBench {
  servers: DeliveryServers;
  dataset: DeliveryDataset;
  sink: Sink;
  takeCounts: () => Promise<StatementCounts>;
}

/** Empties the queue, fills it, starts the engine, waits for the last delivery and stops the engine. */
export async function drain(
  { servers, dataset: { client, secrets }, sink, takeCounts }: DeliveryBench,
  engine: EngineProcess,
  {
    deliveries,
    isHanging = false,
    keepsLog = false,
  }: { deliveries: number; isHanging?: boolean; keepsLog?: boolean },
): Promise<DrainFigures> {
  const queues = keepsLog ? "webhook_delivery_pending" : "webhook_delivery, webhook_attempt, bench_attempt";
  await client.query(`truncate ${queues}`);
  await pointEndpoints(client, sink.url, isHanging ? "hanging" : "answering");
  await engine.send({ do: "fill", count: deliveries });
  const healthy = isHanging ? countHealthy(deliveries) : deliveries;
  sink.send({ do: "expect", count: healthy, secrets, keepTimes: false });
  await takeCounts();
  const cpu = () => ({ nodeUs: processCpuUs(engine.pid), ...servers.cpu() });
  const before = cpu();
  const received = sink.received();
  // If the engine fails to start, this promise rejects later without a listener.
  received.catch(() => undefined);
  await engine.send({ do: "start" });
  const { firstMs, lastMs, requests, wrongSignatures } = await received;
  sink.send({ do: "release" });
  await engine.send({ do: "stop" });
  const after = cpu();
  if (wrongSignatures > 0) throw new Error(`${engine.name} sent ${wrongSignatures} wrong signatures`);
  return {
    perSecond: ((healthy - 1) / (lastMs - firstMs)) * 1000,
    nodeUs: (after.nodeUs - before.nodeUs) / healthy,
    postgresUs: (after.postgresUs - before.postgresUs) / healthy,
    mongoUs: (after.mongoUs - before.mongoUs) / healthy,
    statements: (await takeCounts()).calls / healthy,
    duplicates: requests - healthy,
  };
}

/** Message n goes to endpoint n modulo the number of endpoints. */
function countHealthy(deliveries: number): number {
  let healthy = 0;
  for (let n = 1; n <= deliveries; n += 1) if (n % ENDPOINTS >= HANGING_ENDPOINTS) healthy += 1;
  return healthy;
}
