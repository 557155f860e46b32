/** Composes the read replicas, which may answer lists and aggregates of organisations instead of the primary. */
import type { AppContext } from "./context.ts";
import { newestChange } from "../events/api.ts";
import type { Dependency } from "../api/ops/dependencies.ts";
import type { Queryable } from "../core/postgres/database.ts";
import type { Principal } from "../core/principal.ts";
import { openReplicas } from "../core/replicas.ts";

/** Returns where to run the lists and aggregates of `principal`. When `signal` aborts, the statement is cancelled. */
type CreateReader = (primary: Queryable, principal: Principal, signal?: AbortSignal) => Queryable;

export interface ReplicaReaders extends AsyncDisposable {
  /** Opens connections to each replica, with these PostgreSQL settings in addition to the default ones. */
  connect(session?: Readonly<Record<string, string>>): Promise<CreateReader>;
  readonly dependencies: readonly Dependency[];
}

/** Opens the configured replicas. A worker uses none. Operators always read from the primary: they see all organisations. */
export async function openReplicaReaders(context: AppContext): Promise<ReplicaReaders> {
  const { config, database } = context;
  const { replicaUrls, poolSize } = config.database;
  if (replicaUrls.length === 0 || config.role === "worker")
    return {
      connect: () => Promise.resolve((primary) => primary),
      dependencies: [],
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  const replicas = await openReplicas({ ...context, urls: replicaUrls, primary: database, poolSize });
  return {
    async connect(session) {
      const createReader = await replicas.connect(session);
      return (primary, { organizationId }, signal) =>
        organizationId === null
          ? primary
          : createReader({ primary, newestChange: () => newestChange(database, organizationId), signal });
    },
    dependencies: replicas.all.map((replica) => ({
      name: replica.name,
      isRequired: false,
      check: () =>
        replica.problem === null ? { status: "up" } : { status: "down", message: replica.problem },
    })),
    [Symbol.asyncDispose]: () => replicas[Symbol.asyncDispose](),
  };
}
