/** The delivery rows: `--only=deliveries` (backlog and latency) or one of them, and `--only=growth`. */
import { measureBacklog } from "./backlog.ts";
import { measureLogGrowth } from "./log-growth.ts";
import { measureLatency } from "./latency.ts";
import { startDeliveryProcesses, startSink } from "./processes.ts";
import { backlogTable, growthTable, latencyTable } from "./tables.ts";
import { createDeliveryDataset } from "./dataset.ts";

export interface DeliveryOptions {
  folder: string;
  /** Of the backlog. */
  deliveries: number;
  rounds: number;
  /** Beside Waymark, the engines that the backlog is measured with; null: all. */
  engines: readonly string[] | null;
  onProgress: (text: string) => void;
}

export type DeliveryPart = "backlog" | "latency" | "growth";

/** The parts that `--only` asks for; without it all but growth, which takes its time. */
export function deliveryParts(only: readonly string[] | undefined): DeliveryPart[] {
  if (!only || only.includes("deliveries")) return ["backlog", "latency"];
  return (["backlog", "latency", "growth"] as const).filter((part) => only.includes(part));
}

/** Answers with each part's table. */
export async function measureDeliveries(
  parts: readonly DeliveryPart[],
  { folder, deliveries, rounds, engines, onProgress }: DeliveryOptions,
): Promise<Map<DeliveryPart, string>> {
  const tables = new Map<DeliveryPart, string>();
  await using stage = await startDeliveryProcesses(folder, onProgress);
  await using sink = await startSink();
  if (parts.includes("backlog") || parts.includes("latency")) {
    const world = { name: "deliveries", events: deliveries, sinkUrl: sink.url };
    await using bench = await createDeliveryDataset(stage.postgresUrl, world);
    onProgress(`${deliveries} events`);
    if (parts.includes("backlog")) {
      const result = await measureBacklog(
        { stage, world: bench, sink },
        { deliveries, rounds, only: engines },
      );
      tables.set("backlog", backlogTable(result));
    }
    if (parts.includes("latency"))
      tables.set("latency", latencyTable(await measureLatency({ stage, world: bench, sink }, { rounds })));
  }
  if (parts.includes("growth")) {
    const largest = deliveries * 20;
    tables.set("growth", growthTable(await measureLogGrowth(stage, sink, { rounds, largest })));
  }
  return tables;
}
