/** Composes the read replicas, which may answer lists and aggregates of organisations instead of the primary. */
import { newestChange } from "../events/api.ts";
import type { Dependency } from "../api/ops/dependencies.ts";
import { type CreateReader, openReplicas, type Replicas } from "../core/replicas.ts";
import type { AppContext } from "./context.ts";

export interface ReplicaReaders extends Pick<Replicas, "connect">, AsyncDisposable {
  readonly dependencies: readonly Dependency[];
}

const onPrimary: CreateReader = (database) => database;

/** Opens the configured replicas. A worker uses none. */
export async function openReplicaReaders(context: AppContext): Promise<ReplicaReaders> {
  const { config, database: primary } = context;
  const { replicaUrls: urls, poolSize } = config.database;
  const isUsed = urls.length > 0 && config.role !== "worker";
  const options = { ...context, urls, primary, poolSize };
  const replicas = isUsed
    ? await openReplicas({ ...options, newestChange: (id) => newestChange(primary, id) })
    : null;
  return {
    connect: async (session) => (await replicas?.connect(session)) ?? onPrimary,
    dependencies: (replicas?.all ?? []).map((replica) => ({
      name: replica.name,
      isRequired: false,
      problem: () => replica.problem,
    })),
    [Symbol.asyncDispose]: async () => await replicas?.[Symbol.asyncDispose](),
  };
}
