/** One who follows the feed, and the audience of those with the same eyes, which is told of what each of them wants. */
import { setTimeout as pause } from "node:timers/promises";
import type { Queryable } from "../platform/postgres/database.ts";
import { AppError } from "../platform/errors.ts";
import type { Principal } from "../platform/principal.ts";
import type { Sql } from "../platform/postgres/sql.ts";
import type { Semaphore } from "../platform/concurrency/semaphore.ts";
import { EventBuffer, SlowReaderError } from "./event.buffer.ts";
import type { EventType } from "./event.entity.ts";
import { filterEvents, type TailRow } from "./event.tail-query.ts";

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
  fromTransaction: bigint | null;
}

/** Unread events of one subscription. Rows are shared by all who wait for them. */
const MAX_BUFFERED = 1_000;
/** Events of one audience that wait until they are held against its filters. */
const MAX_UNMATCHED = 5_000;
/** Different filters of one audience: each costs a statement for each page of events. */
const MAX_FILTERS = 50;
const MAX_ATTEMPTS = 5;
const RETRY_DELAY_MS = 1_000;

interface SubscriptionFilter {
  readonly condition: Sql;
  readonly subscriptions: Set<Subscription>;
}

/** All subscriptions in this process of one organisation, or of operators. */
export class SubscriberGroup {
  readonly principal: Principal;
  readonly #database: Queryable;
  readonly #semaphore: Semaphore;
  readonly #unfiltered = new Set<Subscription>();
  readonly #filters = new Map<string, SubscriptionFilter>();
  #unmatched: TailRow[] = [];
  #isMatching = false;

  constructor(principal: Principal, database: Queryable, semaphore: Semaphore) {
    this.principal = principal;
    this.#database = database;
    this.#semaphore = semaphore;
  }

  get isEmpty(): boolean {
    return this.#unfiltered.size === 0 && this.#filters.size === 0;
  }

  /** `onEnd` is called once the subscription is over, whoever ends it. Throws where that is one filter too many. */
  add(query: TailQuery, onEnd: () => void): Subscription {
    const key = query.condition && JSON.stringify(query.condition.compile());
    if (key !== null && !this.#filters.has(key) && this.#filters.size >= MAX_FILTERS)
      throw new AppError(
        "TooManyRequestsException",
        `At most ${MAX_FILTERS} different filters of one organisation are followed at once`,
      );
    const buffer = new EventBuffer<TailRow>(MAX_BUFFERED, () => {
      this.#remove(subscription, key);
      onEnd();
    });
    const subscription: Subscription = { buffer, query, fromTransaction: null };
    if (query.condition === null || key === null) this.#unfiltered.add(subscription);
    else this.#filterOf(key, query.condition).subscriptions.add(subscription);
    return subscription;
  }

  /** In the feed's order, and only what `viewer` may see. */
  push(rows: readonly TailRow[]): void {
    for (const subscription of this.#unfiltered) pushWanted(subscription, rows);
    if (this.#filters.size === 0) return;
    this.#unmatched.push(...this.#relevant(rows));
    if (this.#unmatched.length > MAX_UNMATCHED) this.#failFiltered(new SlowReaderError());
    else if (!this.#isMatching) void this.#match();
  }

  /** Ends all. */
  close(): void {
    for (const { buffer } of [...this.#unfiltered, ...this.#filteredSubscriptions()]) void buffer.return();
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
      const subscriptionsAsking = [...subscriptions];
      const wantedByAny = new Set(
        subscriptionsAsking.flatMap((subscription) => wantedRows(subscription, rows)),
      );
      if (wantedByAny.size === 0) continue;
      const wanted = rows.filter((row) => wantedByAny.has(row));
      const matching = await this.#matchingIds({ rows: wanted, condition });
      const matched = wanted.filter(({ id }) => matching.has(id));
      for (const subscription of subscriptionsAsking) pushWanted(subscription, matched);
    }
  }

  /** A database that is away for a moment ends no subscription. */
  async #matchingIds(request: { rows: readonly TailRow[]; condition: Sql }): Promise<Set<string>> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        // Each filter by itself, so that 50 filters of one audience let those of others in between.
        return await this.#semaphore(() => filterEvents(this.#database, this.principal, request));
      } catch (error) {
        const isUnavailable = error instanceof AppError && error.code === "ServiceUnavailableException";
        if (!isUnavailable || attempt >= MAX_ATTEMPTS || this.isEmpty) throw error;
        await pause(RETRY_DELAY_MS);
      }
    }
  }

  /** Without those from before every filter's subscriptions, which must not fill what waits. */
  #relevant(rows: readonly TailRow[]): TailRow[] {
    const startedFrom = this.#filteredSubscriptions().flatMap(({ fromTransaction }) =>
      fromTransaction === null ? [] : [fromTransaction],
    );
    return rows.filter((row) => startedFrom.some((from) => BigInt(row.transaction_id) >= from));
  }

  #filterOf(key: string, condition: Sql): SubscriptionFilter {
    const filter = this.#filters.get(key) ?? { condition, subscriptions: new Set() };
    this.#filters.set(key, filter);
    return filter;
  }

  #filteredSubscriptions(): Subscription[] {
    return [...this.#filters.values()].flatMap(({ subscriptions }) => [...subscriptions]);
  }

  #failFiltered(failure: Error): void {
    for (const { buffer } of this.#filteredSubscriptions()) buffer.fail(failure);
    this.#unmatched = [];
  }

  #remove(subscription: Subscription, key: string | null): void {
    this.#unfiltered.delete(subscription);
    const filter = key === null ? undefined : this.#filters.get(key);
    filter?.subscriptions.delete(subscription);
    if (key !== null && filter?.subscriptions.size === 0) this.#filters.delete(key);
  }
}

function pushWanted(subscription: Subscription, rows: readonly TailRow[]): void {
  for (const row of wantedRows(subscription, rows)) subscription.buffer.push(row);
}

/** Those of `rows`, which are in the feed's order, that are not from before and of a type that was asked for. */
function wantedRows({ fromTransaction, query }: Subscription, rows: readonly TailRow[]): readonly TailRow[] {
  if (fromTransaction === null) return [];
  const start = rows.findIndex((row) => BigInt(row.transaction_id) >= fromTransaction);
  if (start < 0) return [];
  const later = start === 0 ? rows : rows.slice(start);
  return query.types.length === 0 ? later : later.filter(({ type }) => query.types.includes(type));
}
