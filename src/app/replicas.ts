/** Composes the read replicas, which may answer lists and aggregates instead of the primary. */
import type { AppContext } from "./context.ts";
import { entities } from "./entities.ts";
import { createFreshnessLookup } from "../events/api.ts";
import type { Dependency } from "../http/ops/dependencies.ts";
import type { Queryable } from "../platform/postgres/database.ts";
import type { Principal } from "../platform/principal.ts";
import { openReplicas } from "../platform/replicas/replicas.ts";

/** Returns where to run the lists and aggregates of `principal`. When `signal` aborts, the statement is cancelled. */
type CreateReader = (primary: Queryable, principal: Principal, signal?: AbortSignal) => Queryable;

export interface ReplicaReaders extends AsyncDisposable {
  /** Opens connections to each replica, with these PostgreSQL settings in addition to the default ones. */
  connect(session?: Readonly<Record<string, string>>): Promise<CreateReader>;
  readonly dependencies: readonly Dependency[];
}

const withoutReplicas: ReplicaReaders = {
  connect: () => Promise.resolve((primary) => primary),
  dependencies: [],
  [Symbol.asyncDispose]: () => Promise.resolve(),
};

/** Opens the configured replicas. Without replicas, and in a worker, readers use the primary only. */
export async function openReplicaReaders(context: AppContext): Promise<ReplicaReaders> {
  const { config, database, databaseUrl: primaryUrl, logger, registry, tracing } = context;
  const { replicaUrls: urls, poolSize } = config.database;
  if (urls.length === 0 || config.role === "worker") return withoutReplicas;
  const replicas = await openReplicas({ urls, poolSize, entities, tracing, primaryUrl, logger, registry });
  const freshnessLookup = createFreshnessLookup(database);
  return {
    async connect(session = {}) {
      const createReader = await replicas.connect(session);
      return (primary, principal, signal) =>
        createReader({ primary, minHorizon: () => freshnessLookup(principal), signal });
    },
    dependencies: replicas.all.map((replica) => ({
      name: replica.name,
      isRequired: false,
      check: () => {
        const { statusMessage } = replica;
        return statusMessage === null ? { status: "up" } : { status: "down", message: statusMessage };
      },
    })),
    [Symbol.asyncDispose]: () => replicas[Symbol.asyncDispose](),
  };
}
