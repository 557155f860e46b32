/** One read replica: its health and its connection pools. */
import { type Database, type DatabaseOptions, type Queryable, openDatabase } from "../postgres/database.ts";
import { ServerProbe } from "./probe.ts";
import type { WalHistory } from "./wal-history.ts";
import { sql, type Sql } from "../postgres/sql.ts";

/** Why a replica is left out. */
export type ReplicaProblem =
  | "unprobed"
  | "unreachable"
  | "behind"
  | "not a standby"
  | "belongs to another primary"
  | "diverged"
  | typeof PRIMARY_UNREACHABLE;

/** Without the primary's position a replica's lag is unknown. */
const PRIMARY_UNREACHABLE = "primary unreachable";

/** A replica that lags further behind is left out. */
const MAX_LAG_MS = 2_000;

interface Health {
  readonly problem: ReplicaProblem | null;
  /** Minimum age of the oldest change it has not replayed. Null if unknown. */
  readonly lagMs: number | null;
  /** The last known time at which the primary had nothing that this replica lacks now. Null if unknown. */
  readonly caughtUpAtMs: number | null;
}

const unusableHealth = (problem: ReplicaProblem): Health => ({ problem, lagMs: null, caughtUpAtMs: null });

/** The results of probing the primary. */
export interface PrimaryState {
  readonly walHistory: WalHistory;
  systemIdentifier: string | null;
}

export class Replica implements AsyncDisposable {
  readonly name: string;
  readonly #url: string;
  readonly #probe: ServerProbe;
  readonly #pools: ReplicaPool[] = [];
  /** Rejects each query in flight. */
  readonly #pendingQueries = new Set<(error: Error) => void>();
  #health: Health = unusableHealth("unprobed");
  #lastPosition: { position: bigint; atMs: number } | null = null;

  constructor(name: string, url: string) {
    this.name = name;
    this.#url = url;
    this.#probe = new ServerProbe(url);
  }

  get problem(): ReplicaProblem | null {
    return this.#health.problem;
  }

  get lagMs(): number | null {
    return this.#health.lagMs;
  }

  /** True if the problem is the replica's, so that the primary may still answer. */
  get #hasOwnProblem(): boolean {
    return this.problem !== null && this.problem !== PRIMARY_UNREACHABLE;
  }

  /** The problem as a message for the readiness check, or null. */
  get statusMessage(): string | null {
    const { problem, lagMs } = this.#health;
    return problem === "behind" && lagMs !== null ? `${Math.round(lagMs / 1_000)} s behind` : problem;
  }

  /** True if it has no problem and was last known to be at most two seconds behind. */
  get isUsable(): boolean {
    const { problem, caughtUpAtMs } = this.#health;
    return problem === null && caughtUpAtMs !== null && performance.now() - caughtUpAtMs <= MAX_LAG_MS;
  }

  /** Opens a pool for this replica. Disposing the replica closes it. */
  async open(options: Omit<DatabaseOptions, "url">): Promise<ReplicaPool> {
    const pool = new ReplicaPool({ ...options, url: this.#url });
    await pool.reconnect();
    this.#pools.push(pool);
    return pool;
  }

  /** Runs `statement`. Rejects if it fails, or as soon as a probe finds a problem: waiting longer could take forever. */
  async query<Row>(queryable: Queryable, statement: Sql): Promise<ReplicaResult<Row>> {
    const { promise: abandoned, reject: abandon } = Promise.withResolvers<never>();
    this.#pendingQueries.add(abandon);
    try {
      return parseReplicaResult(
        await Promise.race([queryable.query<object>(withHorizon(statement)), abandoned]),
      );
    } finally {
      this.#pendingQueries.delete(abandon);
    }
  }

  /** Updates the replica's health. Never rejects. */
  async probe(primary: PrimaryState): Promise<void> {
    const health = await this.#checkHealth(primary);
    // The old connections may be dead without notice, and statements on them would hang.
    if (this.problem === "unreachable" && health.problem !== "unreachable")
      await Promise.all(this.#pools.map((pool) => pool.reconnect()));
    this.#health = health;
    if (!this.#hasOwnProblem) return;
    for (const abandon of this.#pendingQueries)
      abandon(new Error(`The replica is left out: ${this.problem}`));
  }

  async #checkHealth({ walHistory, systemIdentifier }: PrimaryState): Promise<Health> {
    const startedAtMs = performance.now();
    const result = await this.#probe.probe().catch(() => null);
    const previous = this.#lastPosition;
    this.#lastPosition = null;
    if (result === null) return unusableHealth("unreachable");
    if (!result.isStandby) return unusableHealth("not a standby");
    if (systemIdentifier !== null && result.systemIdentifier !== systemIdentifier)
      return unusableHealth("belongs to another primary");
    const { position } = result;
    this.#lastPosition = { position, atMs: performance.now() };
    if (previous && walHistory.hasDiverged(previous.position, previous.atMs))
      return unusableHealth("diverged");
    const lagMs = walHistory.lagMs(position, startedAtMs);
    if (lagMs === null) return unusableHealth("unprobed");
    if (!walHistory.hasSampleSince(startedAtMs - MAX_LAG_MS)) return unusableHealth(PRIMARY_UNREACHABLE);
    const caughtUpAtMs = walHistory.caughtUpAtMs(position);
    return { problem: lagMs > MAX_LAG_MS ? "behind" : null, lagMs, caughtUpAtMs };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#probe[Symbol.dispose]();
    await Promise.all(this.#pools.map((pool) => pool[Symbol.asyncDispose]()));
  }
}

/** A pool that can be replaced by a new one. */
export class ReplicaPool implements AsyncDisposable {
  /** Statements in flight. */
  inFlight = 0;
  readonly #options: DatabaseOptions;
  #current: Database | null = null;
  /** Replaced pools that still run statements. */
  readonly #closing = new Set<Promise<void>>();

  constructor(options: DatabaseOptions) {
    this.#options = options;
  }

  async reconnect(): Promise<void> {
    const previous = this.#current;
    this.#current = await openDatabase(this.#options);
    if (!previous) return;
    const closing = this.#closeQuietly(previous);
    this.#closing.add(closing);
    void closing.then(() => this.#closing.delete(closing));
  }

  database(signal: AbortSignal | undefined): Queryable {
    const current = this.#current as Database;
    return signal ? current.withSignal(signal) : current;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#closing, this.#current?.[Symbol.asyncDispose]()]);
  }

  /** Ignores errors, because the connections may be dead. */
  async #closeQuietly(database: Database): Promise<void> {
    try {
      await database[Symbol.asyncDispose]();
    } catch {
      return;
    }
  }
}

export interface ReplicaResult<Row> {
  rows: Row[];
  /** `rows` includes the effects of all transactions below this number. Null if the server is not a standby. */
  horizon: bigint | null;
}

interface HorizonColumns {
  replica_horizon: string | null;
  is_row: true | null;
}

/**
 * Adds two columns to each row: the horizon of the snapshot that the rows were read in, and whether there is a row. If the
 * statement has no rows, returns one row with only the horizon.
 */
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
