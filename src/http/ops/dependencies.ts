/** Health checks of the dependencies of a process, for readiness and metrics. */
import type { Database } from "../../platform/postgres/database.ts";
import type { Mongo } from "../../platform/mongo.ts";
import { singleFlight } from "../../platform/concurrency/single-flight.ts";

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
  const check = singleFlight(() => checkPostgres(database), { ttlMs: CHECK_TTL_MS });
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
  const { promise: timeout, resolve } = Promise.withResolvers<DependencyHealth>();
  const timer = setTimeout(() => resolve({ status: "down", message: "no answer in time" }), CHECK_TIMEOUT_MS);
  try {
    return await Promise.race([
      timeout,
      database.ping().then(
        (): DependencyHealth => ({ status: "up" }),
        (): DependencyHealth => ({ status: "down", message: "unreachable" }),
      ),
    ]);
  } finally {
    clearTimeout(timer);
  }
}
