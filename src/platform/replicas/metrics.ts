/** Prometheus metrics of the read replicas; not registered without replicas. */
import { Counter, Gauge, type Registry } from "prom-client";
import type { Replica } from "./replica.ts";

/** Counts a list or aggregate answered by `server`, with the reason for that choice. */
export type CountQuery = (server: string, reason: "current" | "changed" | "failed" | "no_replica") => void;

/** Registers gauges of `replicas` and a counter of statements, and returns the function that counts them. */
export function registerReplicaMetrics(
  registry: Registry,
  replicas: readonly Pick<Replica, "name" | "statusMessage" | "lagMs">[],
): CountQuery {
  const registers = [registry];
  const up = new Gauge({
    name: "waymark_replica_up",
    help: "1 if the replica answers queries, 0 if it has a problem and is left out",
    labelNames: ["replica"] as const,
    registers,
    collect() {
      for (const { name, statusMessage } of replicas)
        up.set({ replica: name }, statusMessage === null ? 1 : 0);
    },
  });
  const lag = new Gauge({
    name: "waymark_replica_lag_seconds",
    help: "Age of the oldest change that the replica has not replayed; absent while the replica or the primary is unreachable",
    labelNames: ["replica"] as const,
    registers,
    collect() {
      for (const { name, lagMs } of replicas)
        if (lagMs === null) lag.remove({ replica: name });
        else lag.set({ replica: name }, lagMs / 1_000);
    },
  });
  const readQueries = new Counter({
    name: "waymark_read_queries_total",
    help: "Statements of lists and aggregates by the server that answered and the reason: current (a replica was up to date), or the primary because the replica lacked a recent change (changed), failed (failed), or no replica was usable (no_replica)",
    labelNames: ["server", "reason"] as const,
    registers,
  });
  return (server, reason) => readQueries.inc({ server, reason });
}
