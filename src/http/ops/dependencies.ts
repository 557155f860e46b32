/** What this process works with, as its readiness tells it: each by name, and whether it can do its work without it. */
import type { Database } from "../../platform/postgres/database.ts";
import type { Mongo } from "../../platform/mongo.ts";
import { singleFlight } from "../../platform/concurrency/single-flight.ts";

export interface DependencyHealth {
  status: "up" | "down";
  message?: string;
}

export interface Dependency {
  readonly name: string;
  /** Whether the process is not ready while this is down. */
  readonly isRequired: boolean;
  readonly check: () => DependencyHealth | Promise<DependencyHealth>;
}

type Pingable = Pick<Database, "ping">;

const CHECK_TIMEOUT_MS = 2_000;
/** Anybody may ask, as often as they like: PostgreSQL is asked no more often than this. */
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

/** Down where deliveries have long been due and nothing is sent: `problem` says what is wrong, or null. */
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
  const { promise: late, resolve } = Promise.withResolvers<DependencyHealth>();
  const timer = setTimeout(() => resolve({ status: "down", message: "no answer in time" }), CHECK_TIMEOUT_MS);
  try {
    return await Promise.race([
      late,
      database.ping().then(
        (): DependencyHealth => ({ status: "up" }),
        (): DependencyHealth => ({ status: "down", message: "unreachable" }),
      ),
    ]);
  } finally {
    clearTimeout(timer);
  }
}
