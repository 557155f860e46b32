/** How it stands with what this process works with, for those who watch its figures: the same that readiness tells. */
import { Gauge, type Registry } from "prom-client";
import type { Dependency } from "./dependencies.ts";

/** Each is asked when the figures are read. */
export function registerDependencyMetrics(registry: Registry, dependencies: readonly Dependency[]): void {
  const gauge = new Gauge({
    name: "waymark_dependency_up",
    help: "Whether what this process works with can be reached and does its work (1) or not (0)",
    labelNames: ["dependency"] as const,
    registers: [],
    async collect() {
      const found = await Promise.all(
        dependencies.map(async ({ name, check }) => ({ name, health: await check() })),
      );
      for (const { name, health } of found) this.set({ dependency: name }, health.status === "up" ? 1 : 0);
    },
  });
  registry.registerMetric(gauge);
}
