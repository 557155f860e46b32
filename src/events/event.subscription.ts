/** One who follows the feed, and the audience of those with the same eyes, which is told of what each of them wants. */
import { setTimeout as pause } from "node:timers/promises";
import type { Queryable } from "../platform/database.ts";
import { AppError } from "../platform/errors.ts";
import type { Viewer } from "../platform/principal.ts";
import type { Sql } from "../platform/sql.ts";
import type { Turnstile } from "../platform/turnstile.ts";
import { EventBuffer, SlowReaderError } from "./event.buffer.ts";
import type { EventType } from "./event.entity.ts";
import { matchingEvents, type TailRow } from "./event.look.ts";

export interface TailQuery {
  /** Over a row `job`: the job as the change left it. Null: any. */
  condition: Sql | null;
  /** Empty: all. */
  types: readonly EventType[];
}

export interface Subscription {
  readonly buffer: EventBuffer<TailRow>;
  readonly query: TailQuery;
  /** Events of transactions below this number happened before. Null: not begun yet. */
  from: bigint | null;
}

/** Unread events of one subscription. Rows are shared by all who wait for them. */
const BUFFERED = 1_000;
/** Events of one audience that wait until they are held against its filters. */
const UNMATCHED = 5_000;
/** Different filters of one audience: each costs a statement for each page of events. */
const FILTERS = 50;
const TRIES = 5;
const RETRY_MS = 1_000;

interface Filter {
  readonly condition: Sql;
  readonly subscriptions: Set<Subscription>;
}

/** All subscriptions in this process of one organisation, or of operators. */
export class Audience {
  readonly viewer: Viewer;
  readonly #database: Queryable;
  readonly #turnstile: Turnstile;
  readonly #unfiltered = new Set<Subscription>();
  readonly #filters = new Map<string, Filter>();
  #unmatched: TailRow[] = [];
  #isMatching = false;

  constructor(viewer: Viewer, database: Queryable, turnstile: Turnstile) {
    this.viewer = viewer;
    this.#database = database;
    this.#turnstile = turnstile;
  }

  get isEmpty(): boolean {
    return this.#unfiltered.size === 0 && this.#filters.size === 0;
  }

  /** `onEnd` is called once the subscription is over, whoever ends it. Throws where that is one filter too many. */
  add(query: TailQuery, onEnd: () => void): Subscription {
    const key = query.condition && JSON.stringify(query.condition.compile());
    if (key !== null && !this.#filters.has(key) && this.#filters.size >= FILTERS)
      throw new AppError(
        "TooManyRequestsException",
        `At most ${FILTERS} different filters of one organisation are followed at once`,
      );
    const buffer = new EventBuffer<TailRow>(BUFFERED, () => {
      this.#remove(subscription, key);
      onEnd();
    });
    const subscription: Subscription = { buffer, query, from: null };
    if (query.condition === null || key === null) this.#unfiltered.add(subscription);
    else this.#filterOf(key, query.condition).subscriptions.add(subscription);
    return subscription;
  }

  /** In the feed's order, and only what `viewer` may see. */
  tell(rows: readonly TailRow[]): void {
    for (const subscription of this.#unfiltered) hand(subscription, rows);
    if (this.#filters.size === 0) return;
    this.#unmatched.push(...this.#ofUse(rows));
    if (this.#unmatched.length > UNMATCHED) this.#failFiltered(new SlowReaderError());
    else if (!this.#isMatching) void this.#match();
  }

  /** Ends all. */
  close(): void {
    for (const { buffer } of [...this.#unfiltered, ...this.#filtered()]) void buffer.return();
  }

  /** Filters are apart from the rest, and each audience's from the others': what is slow holds up nobody else. */
  async #match(): Promise<void> {
    this.#isMatching = true;
    while (this.#unmatched.length > 0) {
      const rows = this.#unmatched;
      this.#unmatched = [];
      try {
        await this.#matchAll(rows);
      } catch (error) {
        // None may get later events without these.
        this.#failFiltered(error as Error);
      }
    }
    this.#isMatching = false;
  }

  async #matchAll(rows: readonly TailRow[]): Promise<void> {
    for (const { condition, subscriptions } of this.#filters.values()) {
      // Whoever comes meanwhile begins with later events than these.
      const asking = [...subscriptions];
      const wantedByAny = new Set(asking.flatMap((subscription) => wantedBy(subscription, rows)));
      if (wantedByAny.size === 0) continue;
      const wanted = rows.filter((row) => wantedByAny.has(row));
      const matching = await this.#matching({ rows: wanted, condition });
      const matched = wanted.filter(({ id }) => matching.has(id));
      for (const subscription of asking) hand(subscription, matched);
    }
  }

  /** A database that is away for a moment ends no subscription. */
  async #matching(asked: { rows: readonly TailRow[]; condition: Sql }): Promise<Set<string>> {
    for (let tries = 1; ; tries += 1) {
      try {
        // Each filter by itself, so that 50 filters of one audience let those of others in between.
        return await this.#turnstile(() => matchingEvents(this.#database, this.viewer, asked));
      } catch (error) {
        const isAway = error instanceof AppError && error.code === "ServiceUnavailableException";
        if (!isAway || tries >= TRIES || this.isEmpty) throw error;
        await pause(RETRY_MS);
      }
    }
  }

  /** Without those from before every filter's subscriptions, which must not fill what waits. */
  #ofUse(rows: readonly TailRow[]): TailRow[] {
    const begun = this.#filtered().flatMap(({ from }) => (from === null ? [] : [from]));
    return rows.filter((row) => begun.some((from) => BigInt(row.transaction_id) >= from));
  }

  #filterOf(key: string, condition: Sql): Filter {
    const filter = this.#filters.get(key) ?? { condition, subscriptions: new Set() };
    this.#filters.set(key, filter);
    return filter;
  }

  #filtered(): Subscription[] {
    return [...this.#filters.values()].flatMap(({ subscriptions }) => [...subscriptions]);
  }

  #failFiltered(failure: Error): void {
    for (const { buffer } of this.#filtered()) buffer.fail(failure);
    this.#unmatched = [];
  }

  #remove(subscription: Subscription, key: string | null): void {
    this.#unfiltered.delete(subscription);
    const filter = key === null ? undefined : this.#filters.get(key);
    filter?.subscriptions.delete(subscription);
    if (key !== null && filter?.subscriptions.size === 0) this.#filters.delete(key);
  }
}

function hand(subscription: Subscription, rows: readonly TailRow[]): void {
  for (const row of wantedBy(subscription, rows)) subscription.buffer.push(row);
}

/** Those of `rows`, which are in the feed's order, that are not from before and of a type that was asked for. */
function wantedBy({ from, query }: Subscription, rows: readonly TailRow[]): readonly TailRow[] {
  if (from === null) return [];
  const start = rows.findIndex((row) => BigInt(row.transaction_id) >= from);
  if (start < 0) return [];
  const later = start === 0 ? rows : rows.slice(start);
  return query.types.length === 0 ? later : later.filter(({ type }) => query.types.includes(type));
}
