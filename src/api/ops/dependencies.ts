/** Health checks of the dependencies of a process, for readiness and metrics. */
import { Gauge, type Registry } from "prom-client";
import type { Database } from "../../core/postgres/database.ts";
import { singleFlight } from "../../core/concurrency/single-flight.ts";
import { withTimeout } from "../../core/concurrency/timeout.ts";

export interface Dependency {
  readonly name: string;
  /** True if the process is not ready while this dependency is down. */
  readonly isRequired: boolean;
  /** Returns why it is down; null if it is up. */
  readonly problem: () => string | null | Promise<string | null>;
}

const CHECK_TIMEOUT_MS = 2_000;
/** Readiness is public and unlimited, so PostgreSQL is checked at most once in this time. */
const CHECK_TTL_MS = 250;

export function postgresDependency(database: Pick<Database, "ping">): Dependency {
  const ping = async (): Promise<string | null> => {
    try {
      const hasAnswered = await withTimeout(
        database.ping().then(() => true),
        CHECK_TIMEOUT_MS,
      );
      return hasAnswered ? null : "no answer in time";
    } catch {
      return "unreachable";
    }
  };
  return { name: "postgres", isRequired: true, problem: singleFlight(ping, CHECK_TTL_MS) };
}

type CheckedDependency = Pick<Dependency, "name" | "isRequired"> & { readonly problem: string | null };

export async function checkAll(dependencies: readonly Dependency[]): Promise<CheckedDependency[]> {
  return await Promise.all(dependencies.map(async (each) => ({ ...each, problem: await each.problem() })));
}

/** Registers `waymark_dependency_up`. Dependencies are checked when metrics are collected. */
export function registerDependencyMetrics(registry: Registry, dependencies: readonly Dependency[]): void {
  const gauge: Gauge<"dependency"> = new Gauge({
    name: "waymark_dependency_up",
    help: "1 if the dependency is up, 0 if it is down",
    labelNames: ["dependency"],
    registers: [registry],
    async collect() {
      for (const { name, problem } of await checkAll(dependencies))
        gauge.set({ dependency: name }, problem === null ? 1 : 0);
    },
  });
}
