/**
 * A statement as a replica is asked it: its rows come with how new they are. That is told by the very snapshot that the rows
 * were read in, so it holds whatever happens meanwhile, and whichever server answers at the replica's address.
 */
import { sql, type Sql } from "../postgres/sql.ts";

export interface ReplicaResult<Row> {
  rows: Row[];
  /** What transactions below this number did is in `rows`. Null: whoever answered is no standby, and nothing is known. */
  horizon: bigint | null;
}

interface HorizonColumns {
  replica_horizon: string | null;
  replica_row: true | null;
}

/** Every row has two columns more. Without a row of the statement's own, one row tells the horizon alone. */
export function withHorizon(statement: Sql): Sql {
  // What is materialized comes out in its own order, whatever it is joined to. Transactions are numbered as in the feed, to
  // whose newest events the horizon is held: after a restore these go on from higher numbers (`feed-number.service.ts`).
  return sql`with replica_answer as materialized (${statement})
    select case when pg_is_in_recovery() then feed_sequence(pg_snapshot_xmin(pg_current_snapshot()))::text end as replica_horizon, answer.*
    from (select) one left join (select true as replica_row, * from replica_answer) answer on true`;
}

export function parseReplicaResult<Row>(markedRows: readonly object[]): ReplicaResult<Row> {
  const [first] = markedRows as readonly HorizonColumns[];
  if (!first) return { rows: [], horizon: null };
  const horizon = first.replica_horizon === null ? null : BigInt(first.replica_horizon);
  return { rows: first.replica_row === null ? [] : (markedRows as unknown as Row[]), horizon };
}
