/** The metric of dependency health, with the same values as readiness. */
import { Gauge, type Registry } from "prom-client";
import type { Dependency } from "./dependencies.ts";

/** Registers `waymark_dependency_up`. Dependencies are checked when metrics are collected. */
export function registerDependencyMetrics(registry: Registry, dependencies: readonly Dependency[]): void {
  const gauge = new Gauge({
    name: "waymark_dependency_up",
    help: "1 if the dependency is up, 0 if it is down",
    labelNames: ["dependency"] as const,
    registers: [],
    async collect() {
      const checks = await Promise.all(
        dependencies.map(async ({ name, check }) => ({ name, health: await check() })),
      );
      for (const { name, health } of checks) this.set({ dependency: name }, health.status === "up" ? 1 : 0);
    },
  });
  registry.registerMetric(gauge);
}
