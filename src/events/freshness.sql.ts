/**
 * Looks up how fresh a replica must be to show a principal every change it may have seen. Concurrent look-ups share
 * statements, which keeps the cost low under load.
 */
import pLimit from "p-limit";
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
  const limit = pLimit(MAX_CONCURRENT_QUERIES);
  let next: { principals: Principal[]; freshness: Promise<ReadonlyMap<string, bigint>> } | null = null;

  const startBatch = () => {
    const principals: Principal[] = [];
    const freshness = limit(() => {
      // No look-up joins a running statement: its snapshot can be older than a change that the caller has seen.
      next = null;
      return readFreshness(database, principals);
    });
    return { principals, freshness };
  };

  return async (principal) => {
    const batch = (next ??= startBatch());
    batch.principals.push(principal);
    return (await batch.freshness).get(principalKey(principal)) ?? 0n;
  };
}

/** Returns the feed sequence by `principalKey`, without principals that have no events. */
async function readFreshness(
  database: Queryable,
  principals: readonly Principal[],
): Promise<ReadonlyMap<string, bigint>> {
  const rows = await database.query<{ id: string; newest: string }>(freshnessStatement(principals));
  return new Map(rows.map(({ id, newest }) => [id, BigInt(newest)]));
}

function freshnessStatement(principals: readonly Principal[]): Sql {
  const idsOf = (type: Principal["organizationType"]): string[] => [
    ...new Set(principals.filter((one) => one.organizationType === type).map(principalKey)),
  ];
  return sql`
    with recent as materialized (
      select actor_id, transaction_id from job_event
      order by transaction_id desc, position desc limit ${MAX_OPERATOR_EVENTS}
    )
    select id, newest::text as newest from (
      select agent.id, (select transaction_id from job_event where agent_id = agent.id order by transaction_id desc limit 1) as newest
      from unnest(${idsOf("agent")}::uuid[]) agent (id)
      union all
      select contractor.id,
        (select transaction_id from job_event where contractor_id = contractor.id order by transaction_id desc limit 1)
      from unnest(${idsOf("contractor")}::uuid[]) contractor (id)
      union all
      select operator.id, coalesce(
        (select transaction_id from recent where actor_id = operator.id order by transaction_id desc limit 1),
        (select transaction_id from recent offset ${MAX_OPERATOR_EVENTS - 1}))
      from unnest(${idsOf(null)}::uuid[]) operator (id)
    ) newest_events where newest is not null`;
}

/** The UUID of a partner's organisation or of the operator. */
function principalKey({ organizationId, actor }: Principal): string {
  return organizationId ?? actor.id ?? SYSTEM_KEY;
}

/** The system principal, which reads no lists. */
const SYSTEM_KEY = "00000000-0000-0000-0000-000000000000";
