/** Subscriptions to new events, grouped by organisation, with their filters. */
import { setTimeout as pause } from "node:timers/promises";
import type { Queryable } from "../core/postgres/database.ts";
import { AppError } from "../core/errors.ts";
import type { Principal } from "../core/principal.ts";
import type { Semaphore } from "../core/concurrency/semaphore.ts";
import { filterToSql, type JobFilterTree } from "../jobs/api.ts";
import { EventBuffer, SlowReaderError } from "./buffer.ts";
import type { EventType } from "./entity.ts";
import { filterEvents, type JobCondition, type TailRow } from "./tail.sql.ts";

export interface TailQuery {
  /** Applies to the job after the change; null matches every event. */
  filter: JobFilterTree | null;
  /** Empty: all types. */
  types: readonly EventType[];
}

export interface Subscription {
  readonly buffer: EventBuffer<TailRow>;
  readonly query: TailQuery;
  /** The first feed sequence that belongs to the subscription; null until it starts. */
  fromTransaction: bigint | null;
}

/** Unread events per subscription. Subscriptions share the row objects. */
const MAX_BUFFERED = 1_000;
/** Events per group that wait to be matched with its filters. */
const MAX_UNMATCHED = 5_000;
/** Different filters per group. Each costs one statement per page of events. */
const MAX_FILTERS = 50;
const MAX_ATTEMPTS = 5;
const RETRY_DELAY_MS = 1_000;

interface SubscriptionFilter {
  readonly condition: JobCondition;
  readonly subscriptions: Set<Subscription>;
}

/** All subscriptions of one organisation, or of operators, in this process. */
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

  /** `onEnd` is called when the subscription ends. Throws TooManyRequestsException for more than MAX_FILTERS filters. */
  add(query: TailQuery, onEnd: () => void): Subscription {
    const condition = query.filter && filterToSql(query.filter);
    const key = condition && JSON.stringify(condition.compile());
    if (key !== null && !this.#filters.has(key) && this.#filters.size >= MAX_FILTERS)
      throw new AppError(
        "TooManyRequestsException",
        `An organisation can subscribe with at most ${MAX_FILTERS} different filters at a time`,
      );
    const buffer = new EventBuffer<TailRow>(MAX_BUFFERED, () => {
      this.#remove(subscription, key);
      onEnd();
    });
    const subscription: Subscription = { buffer, query, fromTransaction: null };
    if (condition === null || key === null) this.#unfiltered.add(subscription);
    else this.#filterOf(key, condition).subscriptions.add(subscription);
    return subscription;
  }

  /** `rows` must be in feed order and visible to the group's principal. */
  push(rows: readonly TailRow[]): void {
    for (const subscription of this.#unfiltered) pushWanted(subscription, rows);
    if (this.#filters.size === 0) return;
    this.#unmatched.push(...this.#relevant(rows));
    if (this.#unmatched.length > MAX_UNMATCHED) this.#failFiltered(new SlowReaderError());
    else if (!this.#isMatching) void this.#match();
  }

  close(): void {
    for (const { buffer } of [...this.#unfiltered, ...this.#filteredSubscriptions()]) void buffer.return();
  }

  /** Runs in the background, so that slow filters delay neither unfiltered subscriptions nor other groups. */
  async #match(): Promise<void> {
    this.#isMatching = true;
    while (this.#unmatched.length > 0) {
      const rows = this.#unmatched;
      this.#unmatched = [];
      try {
        await this.#matchAll(rows);
      } catch (error) {
        // Fail, because later events must not be delivered with a gap before them.
        this.#failFiltered(error as Error);
      }
    }
    this.#isMatching = false;
  }

  async #matchAll(rows: readonly TailRow[]): Promise<void> {
    for (const { condition, subscriptions } of this.#filters.values()) {
      // A snapshot: subscriptions added during the query start after these events.
      const current = [...subscriptions];
      const wantedByAny = new Set(current.flatMap((subscription) => wantedRows(subscription, rows)));
      if (wantedByAny.size === 0) continue;
      const wanted = rows.filter((row) => wantedByAny.has(row));
      const matching = await this.#matchingIds({ rows: wanted, condition });
      const matched = wanted.filter(({ id }) => matching.has(id));
      for (const subscription of current) pushWanted(subscription, matched);
    }
  }

  /** Retries while the database is unavailable, so that a short outage ends no subscription. */
  async #matchingIds(request: { rows: readonly TailRow[]; condition: JobCondition }): Promise<Set<string>> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        // One permit per filter, so that the filters of other groups can run in between.
        return await this.#semaphore(() => filterEvents(this.#database, this.principal, request));
      } catch (error) {
        const isUnavailable = error instanceof AppError && error.code === "ServiceUnavailableException";
        if (!isUnavailable || attempt >= MAX_ATTEMPTS || this.isEmpty) throw error;
        await pause(RETRY_DELAY_MS);
      }
    }
  }

  /** The rows that at least one filtered subscription can receive; others would only fill the queue. */
  #relevant(rows: readonly TailRow[]): TailRow[] {
    const startedFrom = this.#filteredSubscriptions().flatMap(({ fromTransaction }) =>
      fromTransaction === null ? [] : [fromTransaction],
    );
    return rows.filter((row) => startedFrom.some((from) => BigInt(row.transaction_id) >= from));
  }

  #filterOf(key: string, condition: JobCondition): SubscriptionFilter {
    const filter = this.#filters.get(key) ?? { condition, subscriptions: new Set() };
    this.#filters.set(key, filter);
    return filter;
  }

  #filteredSubscriptions(): Subscription[] {
    return [...this.#filters.values()].flatMap(({ subscriptions }) => [...subscriptions]);
  }

  #failFiltered(error: Error): void {
    for (const { buffer } of this.#filteredSubscriptions()) buffer.fail(error);
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

/** The rows since the subscription started that have one of its types. `rows` must be in feed order. */
function wantedRows({ fromTransaction, query }: Subscription, rows: readonly TailRow[]): readonly TailRow[] {
  if (fromTransaction === null) return [];
  const start = rows.findIndex((row) => BigInt(row.transaction_id) >= fromTransaction);
  if (start < 0) return [];
  const later = start === 0 ? rows : rows.slice(start);
  return query.types.length === 0 ? later : later.filter(({ type }) => query.types.includes(type));
}
