/**
 * Counts the requests of API keys that use something deprecated. The counts are added up in memory and written every 10
 * seconds, so that no request waits for them. A crash loses what is not written yet.
 */
import { raw } from "@mikro-orm/postgresql";
import { Counter, type Registry } from "prom-client";
import { ApiKey } from "../api-keys/api.ts";
import type { Clock } from "../platform/clock.ts";
import { startIntervalTask } from "../platform/concurrency/interval-task.ts";
import type { Logger } from "../platform/logger.ts";
import type { Database } from "../platform/postgres/database.ts";
import { SECOND_MS } from "../platform/time.ts";
import type { Deprecation } from "./deprecation.ts";
import { DeprecationUse } from "./use.entity.ts";

export interface UseRecorder extends AsyncDisposable {
  /** Cheap, and never throws. Counts requests with a key of an organisation; ignores operators' keys and signed-in users. */
  record(principal: UsingPrincipal | null, used: readonly Deprecation[]): void;
  /** Writes the counts to PostgreSQL. On failure they are kept for the next call. */
  flush(): Promise<void>;
}

interface UsingPrincipal {
  /** Null for a signed-in user. */
  readonly keyId: string | null;
  /** Null for an operator. */
  readonly organizationId: string | null;
}

export interface UseRecorderDeps {
  database: Database;
  clock: Clock;
  logger: Logger;
  registry: Registry;
  deprecations: readonly Deprecation[];
}

interface CountedUse {
  readonly keyId: string;
  readonly organizationId: string;
  readonly deprecation: string;
  readonly firstMs: number;
  lastMs: number;
  requests: number;
}

const FLUSH_INTERVAL_MS = 10 * SECOND_MS;
/** Pairs of key and deprecation in memory. At the limit, requests of further pairs are not counted until the next flush. */
const MAX_PENDING_USES = 20_000;
const BATCH_SIZE = 1_000;
/** The largest `integer`. */
export const MAX_COUNTED_REQUESTS = 2_147_483_647;

/** Starts the timer only if something is deprecated. */
export function createUseRecorder({
  database,
  clock,
  logger,
  registry,
  deprecations,
}: UseRecorderDeps): UseRecorder {
  const counter = createUseCounter(registry, deprecations);
  const pending = new Map<string, CountedUse>();

  const add = (use: CountedUse): void => {
    const id = `${use.keyId} ${use.deprecation}`;
    const counted = pending.get(id);
    if (!counted && pending.size < MAX_PENDING_USES) pending.set(id, use);
    if (!counted) return;
    counted.lastMs = Math.max(counted.lastMs, use.lastMs);
    counted.requests += use.requests;
  };

  const flush = async (): Promise<void> => {
    // Every process writes in the same order, so that two can't deadlock.
    const uses = [...pending].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, use]) => use);
    pending.clear();
    while (uses.length > 0) {
      const batch = uses.splice(0, BATCH_SIZE);
      try {
        await writeUses(database, batch);
      } catch (error) {
        for (const use of [...batch, ...uses]) add(use);
        throw error;
      }
    }
  };
  const task =
    deprecations.length === 0
      ? null
      : startIntervalTask("record uses of deprecations", FLUSH_INTERVAL_MS, logger, flush);

  return {
    record(principal, used) {
      if (!principal || principal.keyId === null || principal.organizationId === null) return;
      const { keyId, organizationId } = principal;
      const nowMs = clock.now();
      for (const { id } of used) {
        counter.inc({ deprecation: id });
        add({ keyId, organizationId, deprecation: id, firstMs: nowMs, lastMs: nowMs, requests: 1 });
      }
    },
    flush,
    async [Symbol.asyncDispose]() {
      await task?.[Symbol.asyncDispose]();
      await flush().catch(() => undefined);
    },
  };
}

async function writeUses(database: Database, uses: readonly CountedUse[]): Promise<void> {
  await database.transactional(async (em) => {
    // A key can be missing after a restore. Its uses would violate the foreign key.
    const ids = [...new Set(uses.map(({ keyId }) => keyId))];
    const keys = await em.find(ApiKey, { id: { $in: ids } }, { fields: ["id"] });
    const known = new Set(keys.map(({ id }) => id));
    const rows = uses
      .filter(({ keyId }) => known.has(keyId))
      .map(({ keyId, organizationId, deprecation, firstMs, lastMs, requests }) => ({
        apiKey: keyId,
        organization: organizationId,
        deprecation,
        firstUsedAt: new Date(firstMs),
        lastUsedAt: new Date(lastMs),
        requests: Math.min(requests, MAX_COUNTED_REQUESTS),
      }));
    if (rows.length === 0) return;
    await em
      .createQueryBuilder(DeprecationUse)
      .insert(rows)
      .onConflict(["apiKey", "deprecation"])
      .merge({
        lastUsedAt: raw("greatest(deprecation_use.last_used_at, excluded.last_used_at)"),
        requests: raw(
          `least(deprecation_use.requests::bigint + excluded.requests, ${MAX_COUNTED_REQUESTS})::int`,
        ),
      })
      .execute("run");
  });
}

function createUseCounter(registry: Registry, deprecations: readonly Deprecation[]): Counter<"deprecation"> {
  const counter = new Counter({
    name: "waymark_deprecation_uses_total",
    help: "Requests with an organisation's API key that used something deprecated, by the deprecation's ID",
    labelNames: ["deprecation"] as const,
    registers: [registry],
  });
  // rate() misses the first increment of a series that didn't exist before.
  for (const { id } of deprecations) counter.inc({ deprecation: id }, 0);
  return counter;
}
