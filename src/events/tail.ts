/**
 * Follows the end of the feed for the subscriptions of this process. Notifications only wake them; events are read from the feed, so
 * each is delivered once and in order. A lost notification or connection delays events but loses none.
 */
import { setTimeout as pause } from "node:timers/promises";
import { singleFlight } from "../core/concurrency/single-flight.ts";
import { FairSemaphore } from "../core/concurrency/semaphore.ts";
import { withTimeout } from "../core/concurrency/timeout.ts";
import { AppError, isUnavailable, unavailable } from "../core/errors.ts";
import type { Logger } from "../core/logger.ts";
import type { Queryable } from "../core/postgres/database.ts";
import { isCancelled } from "../core/postgres/errors.ts";
import { createNotifier, listenToChannel } from "../core/postgres/notify.ts";
import type { Principal } from "../core/principal.ts";
import { filterToSql, type JobFilterTree } from "../jobs/api.ts";
import type { EventType } from "./entity.ts";
import { feedCursor, type FeedPosition } from "./cursors.ts";
import { FEED_START, newestPosition } from "./feed.sql.ts";
import { readNewEvents, type JobCondition, type TailPage, type TailRow } from "./tail.sql.ts";

export interface EventTailDeps {
  database: Queryable;
  /** URL for the LISTEN connection, which opens with the first subscription. */
  databaseUrl: string;
  logger: Logger;
}

export interface TailQuery {
  /** Applies to the job after the change; null matches every event. */
  filter: JobFilterTree | null;
  /** Empty: all types. */
  types: readonly EventType[];
}

/** Its `cursor` is the feed cursor after which the events start. */
export type EventStream = AsyncGenerator<TailRow, void, void> & { readonly cursor: string };

/** The payload is a list of organisation ids; empty: any organisation can have new events. */
const EVENTS_CHANNEL = "waymark_events";
/** Minimum time between two notifications; calls in between are merged. */
const NOTIFICATION_GAP_MS = 25;

/**
 * Call the returned function after a commit with the ids (UUIDs) of the organisations that can see the change. It wakes the
 * tails of all processes.
 */
export function createEventNotifier(database: Queryable): (organizationIds: readonly string[]) => void {
  return createNotifier(database, EVENTS_CHANNEL, NOTIFICATION_GAP_MS);
}

/** Reads in case a notification was lost. */
const SWEEP_INTERVAL_MS = 5_000;
/** Limits the number of statements under a high rate of changes. */
const MIN_READ_INTERVAL_MS = 20;
/** Reads of events that are hidden until an older transaction ends, which sends no notification. */
const HIDDEN_READ_MS = { min: 50, max: 1_000 } as const;
const RETRY_DELAY_MS = 1_000;
/** Concurrent statements, and those per organisation, so that slow filters do not delay the others. */
const STATEMENTS = { permits: 3, permitsPerKey: 2 };
/** Different filters per organisation. Each costs one statement per page of events. */
const MAX_FILTERS = 50;
/** Key of all operators; organisations use their id. */
const OPERATORS = "operators";

interface Subscriber {
  readonly principal: Principal;
  /** Id of the organisation, or `OPERATORS`. */
  readonly owner: string;
  readonly types: readonly EventType[];
  readonly condition: JobCondition | null;
  /** The same for equal conditions. */
  readonly filterKey: string;
  position: FeedPosition;
  /** Resolved when there can be new events, and when the subscription ends. */
  woken: PromiseWithResolvers<void>;
}

export class EventTail implements AsyncDisposable {
  readonly #deps: EventTailDeps;
  readonly #semaphore = new FairSemaphore(STATEMENTS);
  readonly #subscribers = new Set<Subscriber>();
  /** In progress, by owner, filter and position: subscriptions that wait for the same events share a statement. */
  readonly #reads = new Map<string, Promise<TailPage>>();
  readonly #newestPosition: () => Promise<FeedPosition>;
  #listener: AsyncDisposableStack | null = null;
  #isClosed = false;

  constructor(deps: EventTailDeps) {
    this.#deps = deps;
    this.#newestPosition = singleFlight(() => newestPosition(deps.database));
  }

  /**
   * Resolves when the subscription is active. It yields every event that is committed later and visible to `principal`, once and
   * in feed order, until `signal` aborts. Throws TooManyRequestsException for more than 50 filters of an organisation.
   */
  async subscribe(principal: Principal, query: TailQuery, signal: AbortSignal): Promise<EventStream> {
    const subscriber = this.#add(principal, query);
    const end = (): void => {
      this.#subscribers.delete(subscriber);
      subscriber.woken.resolve();
    };
    signal.addEventListener("abort", end, { once: true });
    try {
      subscriber.position = await this.#newestPosition();
    } catch (error) {
      end();
      throw error;
    }
    if (signal.aborted) end();
    if (this.#isClosed) throw unavailable("The server is stopping", 1);
    return Object.assign(this.#follow(subscriber), { cursor: feedCursor(subscriber.position) });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    const subscribers = [...this.#subscribers];
    this.#subscribers.clear();
    for (const { woken } of subscribers) woken.resolve();
    await this.#listener?.[Symbol.asyncDispose]();
  }

  #add(principal: Principal, { filter, types }: TailQuery): Subscriber {
    if (this.#isClosed) throw unavailable("The server is stopping", 1);
    const owner = principal.organizationId ?? OPERATORS;
    const condition = filter && filterToSql(filter, undefined, principal.timeZone);
    const filterKey = JSON.stringify(condition?.compile() ?? null);
    const others = [...this.#subscribers].filter((other) => other.owner === owner && other.condition);
    const filterKeys = new Set(others.map((other) => other.filterKey));
    if (condition && !filterKeys.has(filterKey) && filterKeys.size >= MAX_FILTERS)
      throw new AppError(
        "TooManyRequestsException",
        `An organisation can subscribe with at most ${MAX_FILTERS} different filters at a time`,
      );
    const woken = Promise.withResolvers<void>();
    const subscriber = { principal, owner, types, condition, filterKey, position: FEED_START, woken };
    this.#subscribers.add(subscriber);
    this.#listener ??= this.#listen();
    return subscriber;
  }

  #listen(): AsyncDisposableStack {
    const listener = new AsyncDisposableStack();
    listener.use(
      listenToChannel({
        url: this.#deps.databaseUrl,
        channel: EVENTS_CHANNEL,
        applicationName: "waymark event tail",
        logger: this.#deps.logger,
        onNotification: (payload) => this.#wake(payload),
      }),
    );
    const sweep = setInterval(() => this.#wake(""), SWEEP_INTERVAL_MS);
    listener.defer(() => clearInterval(sweep));
    return listener;
  }

  #wake(payload: string): void {
    // Reads in progress may not see the new events.
    this.#reads.clear();
    const owners = new Set(payload.split(","));
    for (const { owner, woken } of this.#subscribers)
      if (payload === "" || owner === OPERATORS || owners.has(owner)) woken.resolve();
  }

  async *#follow(subscriber: Subscriber): AsyncGenerator<TailRow, void, void> {
    const { types } = subscriber;
    let hiddenReadMs = 0;
    while (this.#subscribers.has(subscriber)) {
      subscriber.woken = Promise.withResolvers();
      const page = await this.#read(subscriber);
      for (const row of page?.rows ?? []) {
        subscriber.position = row;
        if (row.matches && (types.length === 0 || types.includes(row.type))) yield row;
      }
      if (page?.hasMore) continue;
      const { min, max } = HIDDEN_READ_MS;
      hiddenReadMs = page?.hasHidden ? Math.min(Math.max(hiddenReadMs * 2, min), max) : 0;
      const { promise } = subscriber.woken;
      await pause(MIN_READ_INTERVAL_MS);
      if (page && !page.hasHidden) await promise;
      else await withTimeout(promise, page ? hiddenReadMs : RETRY_DELAY_MS);
    }
  }

  /** Returns null if PostgreSQL is unavailable. Throws other errors, such as the timeout of a filter. */
  async #read(subscriber: Subscriber): Promise<TailPage | null> {
    try {
      return await this.#sharedRead(subscriber);
    } catch (error) {
      const isOutage = isUnavailable(error) && !isCancelled(error.cause);
      if (isOutage || !this.#subscribers.delete(subscriber)) return null;
      throw error;
    }
  }

  async #sharedRead({ principal, owner, condition, filterKey, position }: Subscriber): Promise<TailPage> {
    const key = `${owner} ${position.transaction_id} ${position.position} ${filterKey}`;
    const current = this.#reads.get(key);
    if (current) return await current;
    const read = this.#semaphore.run(owner, () =>
      readNewEvents(this.#deps.database, principal, { after: position, condition }),
    );
    this.#reads.set(key, read);
    try {
      return await read;
    } finally {
      if (this.#reads.get(key) === read) this.#reads.delete(key);
    }
  }
}
