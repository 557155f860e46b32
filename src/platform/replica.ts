/** One replica: whether it may be asked, and the connections on which it is. */
import type { Database, DatabaseOptions, Queryable } from "./database.ts";
import { openDatabase } from "./database.ts";
import { marked, readMarked, type ReplicaAnswer } from "./replica-answer.ts";
import { openServerEye, type ServerEye } from "./replica-look.ts";
import type { PrimaryPositions } from "./replica-positions.ts";
import type { Sql } from "./sql.ts";

/** Why a replica is not asked. */
export type ReplicaProblem =
  | "not looked at yet"
  | "out of reach"
  | "behind"
  | "no standby"
  | "a copy of another server"
  | "of another history"
  | typeof PRIMARY_UNSEEN;

/** No fault of the replica's: nobody knows what it has to have. */
const PRIMARY_UNSEEN = "the primary is not seen";

/** What the primary had so long ago a replica must have, to be asked. */
const MAX_LAG_MS = 2_000;

interface Health {
  readonly problem: ReplicaProblem | null;
  /** For how long the primary has had what it has not, at least. Null: unknown, for it is not there. */
  readonly lagMs: number | null;
  /** When it lacked nothing: the primary has had what it lacks for less long. Null: unknown. */
  readonly provenAtMs: number | null;
}

const unusable = (problem: ReplicaProblem): Health => ({ problem, lagMs: null, provenAtMs: null });

/** What the primary tells of itself. */
export interface PrimaryState {
  readonly positions: PrimaryPositions;
  system: string | null;
}

export class Replica implements AsyncDisposable {
  readonly name: string;
  readonly #url: string;
  readonly #eye: ServerEye;
  readonly #lanes: Lane[] = [];
  /** Those who wait for an answer. */
  readonly #waiting = new Set<(error: Error) => void>();
  #health: Health = unusable("not looked at yet");
  #seen: { position: bigint; atMs: number } | null = null;

  constructor(name: string, url: string) {
    this.name = name;
    this.#url = url;
    this.#eye = openServerEye(url);
  }

  get problem(): ReplicaProblem | null {
    return this.#health.problem;
  }

  get lagMs(): number | null {
    return this.#health.lagMs;
  }

  /** Whether it has a problem of its own, so that the primary may do better. */
  get #isAtFault(): boolean {
    return this.problem !== null && this.problem !== PRIMARY_UNSEEN;
  }

  /** The problem in words. */
  get complaint(): string | null {
    const { problem, lagMs } = this.#health;
    return problem === "behind" && lagMs !== null ? `${Math.round(lagMs / 1_000)} s behind` : problem;
  }

  /** Whether it has what the primary had two seconds ago, as far as anybody knows. */
  get mayBeAsked(): boolean {
    const { problem, provenAtMs } = this.#health;
    return problem === null && provenAtMs !== null && performance.now() - provenAtMs <= MAX_LAG_MS;
  }

  /** Connections for statements of one kind. They are this replica's to close. */
  async open(options: Omit<DatabaseOptions, "url">): Promise<Lane> {
    const lane = new Lane({ ...options, url: this.#url });
    await lane.renew();
    this.#lanes.push(lane);
    return lane;
  }

  /** Rejects where it fails, and as soon as it is found to have a problem: it may be long, or for ever, until it answers. */
  async ask<Row>(queryable: Queryable, statement: Sql): Promise<ReplicaAnswer<Row>> {
    const { promise: lost, reject: lose } = Promise.withResolvers<never>();
    this.#waiting.add(lose);
    try {
      return readMarked(await Promise.race([queryable.query<object>(marked(statement)), lost]));
    } finally {
      this.#waiting.delete(lose);
    }
  }

  /** Looks at it anew. Never rejects. */
  async look(primary: PrimaryState): Promise<void> {
    const health = await this.#examine(primary);
    // Connections of before may be dead without knowing it: a statement on one would wait for long.
    if (this.problem === "out of reach" && health.problem !== "out of reach")
      await Promise.all(this.#lanes.map((lane) => lane.renew()));
    this.#health = health;
    if (!this.#isAtFault) return;
    for (const lose of this.#waiting) lose(new Error(`The replica is ${this.problem}`));
  }

  async #examine({ positions, system }: PrimaryState): Promise<Health> {
    const askedAtMs = performance.now();
    const look = await this.#eye.look().catch(() => null);
    const before = this.#seen;
    this.#seen = null;
    if (look === null) return unusable("out of reach");
    if (!look.isStandby) return unusable("no standby");
    if (system !== null && look.system !== system) return unusable("a copy of another server");
    const { position } = look;
    this.#seen = { position, atMs: performance.now() };
    if (before && positions.isBeyond(before.position, before.atMs)) return unusable("of another history");
    const lagMs = positions.lagMs(position, askedAtMs);
    if (lagMs === null) return unusable("not looked at yet");
    if (!positions.isSeenSince(askedAtMs - MAX_LAG_MS)) return unusable(PRIMARY_UNSEEN);
    const provenAtMs = positions.provenAtMs(position);
    return { problem: lagMs > MAX_LAG_MS ? "behind" : null, lagMs, provenAtMs };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#eye, ...this.#lanes].map((part) => part[Symbol.asyncDispose]()));
  }
}

/** A pool that can be made anew. */
export class Lane implements AsyncDisposable {
  /** Statements that it answers at the moment. */
  inFlight = 0;
  readonly #options: DatabaseOptions;
  #current: Database | null = null;
  /** Pools whose last statements still run. */
  readonly #retired = new Set<Promise<void>>();

  constructor(options: DatabaseOptions) {
    this.#options = options;
  }

  async renew(): Promise<void> {
    const former = this.#current;
    this.#current = await openDatabase(this.#options);
    if (!former) return;
    const retired = this.#retire(former);
    this.#retired.add(retired);
    void retired.then(() => this.#retired.delete(retired));
  }

  database(signal: AbortSignal | undefined): Queryable {
    const current = this.#current as Database;
    return signal ? current.until(signal) : current;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#retired, this.#current?.[Symbol.asyncDispose]()]);
  }

  /** Whatever becomes of connections that may be dead: nobody waits for them. */
  async #retire(former: Database): Promise<void> {
    try {
      await former[Symbol.asyncDispose]();
    } catch {
      return;
    }
  }
}
