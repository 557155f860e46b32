/**
 * Looks up how fresh a replica must be to show a principal every change it may have seen. Concurrent look-ups share
 * statements, which keeps the cost low under load.
 */
import type { Queryable } from "../platform/postgres/database.ts";
import type { Principal } from "../platform/principal.ts";
import { sql, type Sql } from "../platform/postgres/sql.ts";

/**
 * Returns the feed sequence of the newest relevant event, 0 if there is none. A replica that has applied it is fresh enough.
 * Relevant are all events of a partner's organisation, or the changes made by the operator itself.
 */
export type FreshnessLookup = (principal: Principal) => Promise<bigint>;

/** Newest events to search for an operator's own changes. If it made none of them, the oldest of them counts. */
const MAX_OPERATOR_EVENTS = 200;

/** While this many statements run, further look-ups are collected for the next one. */
const MAX_CONCURRENT_QUERIES = 4;

export function createFreshnessLookup(database: Queryable): FreshnessLookup {
  let next: FreshnessBatch | null = null;
  let running = 0;

  const run = async (): Promise<void> => {
    running += 1;
    while (next) {
      const batch = next;
      next = null;
      await batch.query(database);
    }
    running -= 1;
  };

  return async (principal) => {
    // Never join a running statement: its snapshot can be older than a change that the caller has seen.
    const batch = (next ??= new FreshnessBatch());
    batch.add(principal);
    if (running < MAX_CONCURRENT_QUERIES) void run();
    return (await batch.result).get(principalKey(principal)) ?? 0n;
  };
}

type FreshnessByPrincipal = ReadonlyMap<string, bigint>;

class FreshnessBatch {
  readonly #agents = new Set<string>();
  readonly #contractors = new Set<string>();
  readonly #operators = new Set<string>();
  readonly #result = Promise.withResolvers<FreshnessByPrincipal>();

  get result(): Promise<FreshnessByPrincipal> {
    return this.#result.promise;
  }

  add(principal: Principal): void {
    if (principal.organizationId === null) this.#operators.add(principalKey(principal));
    else if (principal.organizationType === "agent") this.#agents.add(principal.organizationId);
    else this.#contractors.add(principal.organizationId);
  }

  async query(database: Queryable): Promise<void> {
    try {
      const rows = await database.query<{ id: string; newest: string }>(this.#statement());
      this.#result.resolve(new Map(rows.map(({ id, newest }) => [id, BigInt(newest)])));
    } catch (error) {
      this.#result.reject(error);
    }
  }

  #statement(): Sql {
    return sql`
      with recent as materialized (
        select actor_id, transaction_id from job_event
        order by transaction_id desc, position desc limit ${MAX_OPERATOR_EVENTS}
      )
      select id, newest::text as newest from (
        select agent.id, (select transaction_id from job_event where agent_id = agent.id order by transaction_id desc limit 1) as newest
        from unnest(${[...this.#agents]}::uuid[]) agent (id)
        union all
        select contractor.id,
          (select transaction_id from job_event where contractor_id = contractor.id order by transaction_id desc limit 1)
        from unnest(${[...this.#contractors]}::uuid[]) contractor (id)
        union all
        select operator.id, coalesce(
          (select transaction_id from recent where actor_id = operator.id order by transaction_id desc limit 1),
          (select transaction_id from recent offset ${MAX_OPERATOR_EVENTS - 1}))
        from unnest(${[...this.#operators]}::uuid[]) operator (id)
      ) newest_events where newest is not null`;
  }
}

/** The UUID of a partner's organisation or of the operator. */
function principalKey({ organizationId, actor }: Principal): string {
  return organizationId ?? actor.id ?? SYSTEM_KEY;
}

/** The system principal, which reads no lists. */
const SYSTEM_KEY = "00000000-0000-0000-0000-000000000000";
