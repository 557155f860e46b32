/**
 * How new the newest is that somebody may already have seen: what an answer from a copy of the database has to show them.
 * Askers of one moment share a statement, so that under load it costs each of them next to nothing.
 */
import type { Queryable } from "../platform/database.ts";
import type { Viewer } from "../platform/principal.ts";
import { sql, type Sql } from "../platform/sql.ts";

/**
 * The number of a transaction such that whoever sees the work of it and of all before it sees every change up to now: for a
 * partner, of each job of its organisation's, whoever made it; for an operator, whose jobs are all, of those by the operator's
 * own hand.
 */
export type NewestOf = (viewer: Viewer) => Promise<bigint>;

/** Of the events since a copy was made, the operator's own are looked for among so many; it counts as changed beyond. */
const OPERATORS_EVENTS = 200;

/** Whoever comes while so many looks are under way shares the next one. */
const LOOKS_AT_ONCE = 4;

export function createNewestOf(database: Queryable): NewestOf {
  let next: Batch | null = null;
  let running = 0;

  const run = async (): Promise<void> => {
    running += 1;
    while (next) {
      const batch = next;
      next = null;
      await batch.look(database);
    }
    running -= 1;
  };

  return async (viewer) => {
    // Never one that is under way: it may have been before a change that the caller knows of.
    const batch = (next ??= new Batch());
    batch.add(viewer);
    if (running < LOOKS_AT_ONCE) void run();
    return (await batch.found).get(keyOf(viewer)) ?? 0n;
  };
}

type Newest = ReadonlyMap<string, bigint>;

class Batch {
  readonly #agents = new Set<string>();
  readonly #contractors = new Set<string>();
  readonly #operators = new Set<string>();
  readonly #found = Promise.withResolvers<Newest>();

  get found(): Promise<Newest> {
    return this.#found.promise;
  }

  add(viewer: Viewer): void {
    if (viewer.organizationId === null) this.#operators.add(keyOf(viewer));
    else if (viewer.organizationType === "agent") this.#agents.add(viewer.organizationId);
    else this.#contractors.add(viewer.organizationId);
  }

  async look(database: Queryable): Promise<void> {
    try {
      const rows = await database.query<{ id: string; newest: string }>(this.#statement());
      this.#found.resolve(new Map(rows.map(({ id, newest }) => [id, BigInt(newest)])));
    } catch (error) {
      this.#found.reject(error);
    }
  }

  #statement(): Sql {
    return sql`
      with recent as materialized (
        select actor_id, transaction_id from job_event
        order by transaction_id desc, position desc limit ${OPERATORS_EVENTS}
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
          (select transaction_id from recent offset ${OPERATORS_EVENTS - 1}))
        from unnest(${[...this.#operators]}::uuid[]) asked (id)
      ) found where newest is not null`;
  }
}

/** A uuid: of a partner's organisation, else of the operator. */
function keyOf({ organizationId, actor }: Viewer): string {
  return organizationId ?? actor.id ?? NOBODY;
}

/** The system itself, which asks for no lists. */
const NOBODY = "00000000-0000-0000-0000-000000000000";
