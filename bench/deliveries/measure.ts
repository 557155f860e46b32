/** The delivery benchmarks: `--only=deliveries` (backlog and latency), one of the two, or `--only=growth`. */
import { measureBacklog } from "./backlog.ts";
import { measureLogGrowth } from "./log-growth.ts";
import { measureLatency } from "./latency.ts";
import { startDeliveryProcesses, startSink } from "./processes.ts";
import { backlogTable, growthTable, latencyTable } from "./tables.ts";
import { createDeliveryDataset } from "./dataset.ts";

export interface DeliveryOptions {
  folder: string;
  /** Size of the backlog. */
  deliveries: number;
  rounds: number;
  /** Engines to measure besides Waymark; null: all. */
  engines: readonly string[] | null;
  onProgress: (text: string) => void;
}

export type DeliveryPart = "backlog" | "latency" | "growth";

/** Returns the parts that `--only` names. Without `--only`: all except growth, which takes long. */
export function deliveryParts(only: readonly string[] | undefined): DeliveryPart[] {
  if (!only || only.includes("deliveries")) return ["backlog", "latency"];
  return (["backlog", "latency", "growth"] as const).filter((part) => only.includes(part));
}

/** Returns each part's table. */
export async function measureDeliveries(
  parts: readonly DeliveryPart[],
  { folder, deliveries, rounds, engines, onProgress }: DeliveryOptions,
): Promise<Map<DeliveryPart, string>> {
  const tables = new Map<DeliveryPart, string>();
  await using processes = await startDeliveryProcesses(folder, onProgress);
  await using sink = await startSink();
  if (parts.includes("backlog") || parts.includes("latency")) {
    const options = { name: "deliveries", events: deliveries, sinkUrl: sink.url };
    await using dataset = await createDeliveryDataset(processes.postgresUrl, options);
    onProgress(`${deliveries} events`);
    if (parts.includes("backlog")) {
      const result = await measureBacklog(
        { processes, dataset, sink },
        { deliveries, rounds, only: engines },
      );
      tables.set("backlog", backlogTable(result));
    }
    if (parts.includes("latency"))
      tables.set("latency", latencyTable(await measureLatency({ processes, dataset, sink }, { rounds })));
  }
  if (parts.includes("growth")) {
    const largest = deliveries * 20;
    tables.set("growth", growthTable(await measureLogGrowth(processes, sink, { rounds, largest })));
  }
  return tables;
}
