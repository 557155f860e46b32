/** Health checks of the dependencies of a process, for readiness and metrics. */
import { Gauge, type Registry } from "prom-client";
import type { Database } from "../../core/postgres/database.ts";
import type { Mongo } from "../../core/mongo.ts";
import { singleFlight } from "../../core/concurrency/single-flight.ts";
import { withTimeout } from "../../core/concurrency/timeout.ts";

export interface DependencyHealth {
  status: "up" | "down";
  message?: string;
}

export interface Dependency {
  readonly name: string;
  /** True if the process is not ready while this dependency is down. */
  readonly isRequired: boolean;
  readonly check: () => DependencyHealth | Promise<DependencyHealth>;
}

type Pingable = Pick<Database, "ping">;

const CHECK_TIMEOUT_MS = 2_000;
/** Readiness is public and unlimited, so PostgreSQL is checked at most once in this time. */
const CHECK_TTL_MS = 250;

export function postgresDependency(database: Pingable): Dependency {
  const check = singleFlight(() => checkPostgres(database), CHECK_TTL_MS);
  return { name: "postgres", isRequired: true, check };
}

export function mongoDependency(mongo: Mongo, isRequired: boolean): Dependency {
  return {
    name: "mongodb",
    isRequired,
    check: () => {
      const { state, message } = mongo.status();
      return { status: state === "up" ? "up" : "down", ...(message !== null && { message }) };
    },
  };
}

/** Down while `problem` returns a message: deliveries have been due for long and none is sent. */
export function deliveriesDependency(problem: () => string | null, isRequired: boolean): Dependency {
  return {
    name: "deliveries",
    isRequired,
    check: () => {
      const message = problem();
      return message === null ? { status: "up" } : { status: "down", message };
    },
  };
}

async function checkPostgres(database: Pingable): Promise<DependencyHealth> {
  const check = database.ping().then(
    (): DependencyHealth => ({ status: "up" }),
    (): DependencyHealth => ({ status: "down", message: "unreachable" }),
  );
  return await withTimeout(check, CHECK_TIMEOUT_MS, () => ({ status: "down", message: "no answer in time" }));
}

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
