/**
 * How new the newest is that somebody may already have seen: what an answer from a copy of the database has to show them.
 * Askers of one moment share a statement, so that under load it costs each of them next to nothing.
 */
import type { Queryable } from "../platform/postgres/database.ts";
import type { Principal } from "../platform/principal.ts";
import { sql, type Sql } from "../platform/postgres/sql.ts";

/**
 * The number of a transaction such that whoever sees the work of it and of all before it sees every change up to now: for a
 * partner, of each job of its organisation's, whoever made it; for an operator, whose jobs are all, of those by the operator's
 * own hand.
 */
export type FreshnessLookup = (viewer: Principal) => Promise<bigint>;

/** Of the events since a copy was made, the operator's own are looked for among so many; it counts as changed beyond. */
const MAX_OPERATOR_EVENTS = 200;

/** Whoever comes while so many looks are under way shares the next one. */
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
    // Never one that is under way: it may have been before a change that the caller knows of.
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
        select asked.id, (select transaction_id from job_event where agent_id = asked.id order by transaction_id desc limit 1) as newest
        from unnest(${[...this.#agents]}::uuid[]) asked (id)
        union all
        select asked.id, (select transaction_id from job_event where contractor_id = asked.id order by transaction_id desc limit 1)
        from unnest(${[...this.#contractors]}::uuid[]) asked (id)
        union all
        select asked.id, coalesce(
          (select transaction_id from recent where actor_id = asked.id order by transaction_id desc limit 1),
          (select transaction_id from recent offset ${MAX_OPERATOR_EVENTS - 1}))
        from unnest(${[...this.#operators]}::uuid[]) asked (id)
      ) found where newest is not null`;
  }
}

/** A uuid: of a partner's organisation, else of the operator. */
function principalKey({ organizationId, actor }: Principal): string {
  return organizationId ?? actor.id ?? SYSTEM_KEY;
}

/** The system itself, which asks for no lists. */
const SYSTEM_KEY = "00000000-0000-0000-0000-000000000000";
