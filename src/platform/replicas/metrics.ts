/** What Prometheus reads of the replicas; without any there are no such figures. */
import { Counter, Gauge, type Registry } from "prom-client";

export interface ReplicaMetrics {
  registerGauges(replicas: readonly { name: string; complaint: string | null; lagMs: number | null }[]): void;
  /** A statement that a replica might answer was answered by `target`, because of `reason`. */
  countQuery(target: string, reason: "current" | "changed" | "failed" | "no_replica"): void;
}

export function createReplicaMetrics(registry: Registry): ReplicaMetrics {
  const registers = [registry];
  const readQueries = new Counter({
    name: "waymark_read_queries_total",
    help: "Statements of lists and aggregates by who answered and why: current (a replica had all that it had to have), or the primary, as something of the caller's had just changed, a replica failed, or none may be asked (no_replica)",
    labelNames: ["target", "reason"] as const,
    registers,
  });
  return {
    registerGauges(replicas) {
      const up = new Gauge({
        name: "waymark_replica_up",
        help: "Whether a replica may be asked (1) or is left out (0)",
        labelNames: ["replica"] as const,
        registers,
        collect() {
          for (const { name, complaint } of replicas) up.set({ replica: name }, complaint === null ? 1 : 0);
        },
      });
      const lag = new Gauge({
        name: "waymark_replica_lag_seconds",
        help: "For how long the primary has had what the replica has not; none where it or the primary is out of reach",
        labelNames: ["replica"] as const,
        registers,
        collect() {
          for (const { name, lagMs } of replicas)
            if (lagMs === null) lag.remove({ replica: name });
            else lag.set({ replica: name }, lagMs / 1_000);
        },
      });
    },
    countQuery: (target, reason) => readQueries.inc({ target, reason }),
  };
}
