/**
 * Wraps statements for replicas, so that they also return the horizon of the snapshot that their rows were read in: how
 * recent the rows are.
 */
import { sql, type Sql } from "../postgres/sql.ts";

export interface ReplicaResult<Row> {
  rows: Row[];
  /** `rows` includes the effects of all transactions below this number. Null if the server is not a standby. */
  horizon: bigint | null;
}

interface HorizonColumns {
  replica_horizon: string | null;
  is_row: true | null;
}

/** Adds two columns to each row. If the statement has no rows, returns one row with only the horizon. */
export function withHorizon(statement: Sql): Sql {
  // A materialized CTE keeps the statement's order in the join. `feed_sequence` numbers transactions as the feed does, whose
  // numbers the horizon is compared with, also after a restore.
  return sql`with replica_result as materialized (${statement})
    select case when pg_is_in_recovery() then feed_sequence(pg_snapshot_xmin(pg_current_snapshot()))::text end as replica_horizon, result.*
    from (select) one left join (select true as is_row, * from replica_result) result on true`;
}

/** Separates the rows and the horizon in the result of a `withHorizon` statement. */
export function parseReplicaResult<Row>(rowsWithHorizon: readonly object[]): ReplicaResult<Row> {
  const [first] = rowsWithHorizon as readonly HorizonColumns[];
  if (!first) return { rows: [], horizon: null };
  const horizon = first.replica_horizon === null ? null : BigInt(first.replica_horizon);
  return { rows: first.is_row === null ? [] : (rowsWithHorizon as unknown as Row[]), horizon };
}
