/** One replica: whether it may be asked, and the connections on which it is. */
import { type Database, type DatabaseOptions, type Queryable, openDatabase } from "../postgres/database.ts";
import { withHorizon, parseReplicaResult, type ReplicaResult } from "./query.ts";
import { openServerProbe, type ServerProbe } from "./probe.ts";
import type { WalHistory } from "./wal-history.ts";
import type { Sql } from "../postgres/sql.ts";

/** Why a replica is not asked. */
export type ReplicaProblem =
  | "unprobed"
  | "out of reach"
  | "behind"
  | "no standby"
  | "a copy of another server"
  | "of another history"
  | typeof PRIMARY_UNREACHABLE;

/** No fault of the replica's: nobody knows what it has to have. */
const PRIMARY_UNREACHABLE = "primary unreachable";

/** What the primary had so long ago a replica must have, to be asked. */
const MAX_LAG_MS = 2_000;

interface Health {
  readonly problem: ReplicaProblem | null;
  /** For how long the primary has had what it has not, at least. Null: unknown, for it is not there. */
  readonly lagMs: number | null;
  /** When it lacked nothing: the primary has had what it lacks for less long. Null: unknown. */
  readonly caughtUpAtMs: number | null;
}

const unusableHealth = (problem: ReplicaProblem): Health => ({ problem, lagMs: null, caughtUpAtMs: null });

/** What the primary tells of itself. */
export interface PrimaryState {
  readonly walHistory: WalHistory;
  systemIdentifier: string | null;
}

export class Replica implements AsyncDisposable {
  readonly name: string;
  readonly #url: string;
  readonly #probe: ServerProbe;
  readonly #pools: ReplicaPool[] = [];
  /** Those who wait for an answer. */
  readonly #pendingQueries = new Set<(error: Error) => void>();
  #health: Health = unusableHealth("unprobed");
  #lastPosition: { position: bigint; atMs: number } | null = null;

  constructor(name: string, url: string) {
    this.name = name;
    this.#url = url;
    this.#probe = openServerProbe(url);
  }

  get problem(): ReplicaProblem | null {
    return this.#health.problem;
  }

  get lagMs(): number | null {
    return this.#health.lagMs;
  }

  /** Whether it has a problem of its own, so that the primary may do better. */
  get #hasOwnProblem(): boolean {
    return this.problem !== null && this.problem !== PRIMARY_UNREACHABLE;
  }

  /** The problem in words. */
  get complaint(): string | null {
    const { problem, lagMs } = this.#health;
    return problem === "behind" && lagMs !== null ? `${Math.round(lagMs / 1_000)} s behind` : problem;
  }

  /** Whether it has what the primary had two seconds ago, as far as anybody knows. */
  get isUsable(): boolean {
    const { problem, caughtUpAtMs } = this.#health;
    return problem === null && caughtUpAtMs !== null && performance.now() - caughtUpAtMs <= MAX_LAG_MS;
  }

  /** Connections for statements of one kind. They are this replica's to close. */
  async open(options: Omit<DatabaseOptions, "url">): Promise<ReplicaPool> {
    const lane = new ReplicaPool({ ...options, url: this.#url });
    await lane.reconnect();
    this.#pools.push(lane);
    return lane;
  }

  /** Rejects where it fails, and as soon as it is found to have a problem: it may be long, or for ever, until it answers. */
  async query<Row>(queryable: Queryable, statement: Sql): Promise<ReplicaResult<Row>> {
    const { promise: lost, reject: lose } = Promise.withResolvers<never>();
    this.#pendingQueries.add(lose);
    try {
      return parseReplicaResult(await Promise.race([queryable.query<object>(withHorizon(statement)), lost]));
    } finally {
      this.#pendingQueries.delete(lose);
    }
  }

  /** Looks at it anew. Never rejects. */
  async probe(primary: PrimaryState): Promise<void> {
    const health = await this.#checkHealth(primary);
    // Connections of before may be dead without knowing it: a statement on one would wait for long.
    if (this.problem === "out of reach" && health.problem !== "out of reach")
      await Promise.all(this.#pools.map((lane) => lane.reconnect()));
    this.#health = health;
    if (!this.#hasOwnProblem) return;
    for (const lose of this.#pendingQueries) lose(new Error(`The replica is ${this.problem}`));
  }

  async #checkHealth({ walHistory, systemIdentifier }: PrimaryState): Promise<Health> {
    const askedAtMs = performance.now();
    const look = await this.#probe.probe().catch(() => null);
    const before = this.#lastPosition;
    this.#lastPosition = null;
    if (look === null) return unusableHealth("out of reach");
    if (!look.isStandby) return unusableHealth("no standby");
    if (systemIdentifier !== null && look.systemIdentifier !== systemIdentifier)
      return unusableHealth("a copy of another server");
    const { position } = look;
    this.#lastPosition = { position, atMs: performance.now() };
    if (before && walHistory.hasDiverged(before.position, before.atMs))
      return unusableHealth("of another history");
    const lagMs = walHistory.lagMs(position, askedAtMs);
    if (lagMs === null) return unusableHealth("unprobed");
    if (!walHistory.hasSampleSince(askedAtMs - MAX_LAG_MS)) return unusableHealth(PRIMARY_UNREACHABLE);
    const caughtUpAtMs = walHistory.caughtUpAtMs(position);
    return { problem: lagMs > MAX_LAG_MS ? "behind" : null, lagMs, caughtUpAtMs };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#probe, ...this.#pools].map((part) => part[Symbol.asyncDispose]()));
  }
}

/** A pool that can be made anew. */
export class ReplicaPool implements AsyncDisposable {
  /** Statements that it answers at the moment. */
  inFlight = 0;
  readonly #options: DatabaseOptions;
  #current: Database | null = null;
  /** Pools whose last statements still run. */
  readonly #closing = new Set<Promise<void>>();

  constructor(options: DatabaseOptions) {
    this.#options = options;
  }

  async reconnect(): Promise<void> {
    const former = this.#current;
    this.#current = await openDatabase(this.#options);
    if (!former) return;
    const retired = this.#closeQuietly(former);
    this.#closing.add(retired);
    void retired.then(() => this.#closing.delete(retired));
  }

  database(signal: AbortSignal | undefined): Queryable {
    const current = this.#current as Database;
    return signal ? current.withSignal(signal) : current;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#closing, this.#current?.[Symbol.asyncDispose]()]);
  }

  /** Whatever becomes of connections that may be dead: nobody waits for them. */
  async #closeQuietly(former: Database): Promise<void> {
    try {
      await former[Symbol.asyncDispose]();
    } catch {
      return;
    }
  }
}
