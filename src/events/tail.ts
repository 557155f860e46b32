/**
 * Follows the end of the feed for all subscriptions of this process. Notifications only wake it; events are read from the
 * feed, so each is delivered once and in order. A lost notification or connection delays events but loses none.
 */
import { setTimeout as pause } from "node:timers/promises";
import pLimit from "p-limit";
import type { Queryable } from "../core/postgres/database.ts";
import { unavailable } from "../core/errors.ts";
import type { Logger } from "../core/logger.ts";
import { createNotifier, listenToChannel } from "../core/postgres/notify.ts";
import type { Principal } from "../core/principal.ts";
import { isVisibleTo } from "../jobs/api.ts";
import { feedCursor, type FeedPosition } from "./feed-cursor.ts";
import { SubscriberGroup, type Subscription, type TailQuery } from "./subscriber-group.ts";
import { readNewEvents, type TailPage } from "./tail.sql.ts";
import { withTimeout } from "../core/concurrency/timeout.ts";

export interface EventTailDeps {
  database: Queryable;
  /** URL for the LISTEN connection, which is open only while there are subscriptions. */
  databaseUrl: string;
  logger: Logger;
}

/** Its `cursor` is the feed cursor after which the events start. */
export type EventStream = Subscription["buffer"];

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

/** Polls in case a notification was lost. */
const SWEEP_INTERVAL_MS = 5_000;
/** Limits the number of statements under a high rate of changes. */
const MIN_POLL_INTERVAL_MS = 20;
/** Polls for events that are hidden until an older transaction ends, which sends no notification. */
const HIDDEN_POLL_MS = { min: 50, max: 1_000 } as const;
const RETRY_DELAY_MS = 1_000;
/** Keeps the LISTEN connection open for clients that reconnect. */
const IDLE_TIMEOUT_MS = 30_000;
/** Filter statements that run at the same time. */
const MAX_CONCURRENT_MATCHES = 2;
/** Key of the operators' group; organisations use their id. */
const OPERATOR_GROUP = "operators";

interface PendingSubscriber {
  readonly subscription: Subscription;
  readonly started: PromiseWithResolvers<void>;
}

export class EventTail implements AsyncDisposable {
  readonly #deps: EventTailDeps;
  readonly #semaphore = pLimit(MAX_CONCURRENT_MATCHES);
  readonly #groups = new Map<string, SubscriberGroup>();
  #pendingSubscribers: PendingSubscriber[] = [];
  /** The position up to which the feed was read; null without subscriptions. */
  #position: FeedPosition | null = null;
  /** Set when the next poll may find new events. */
  #isWoken = false;
  #woken = Promise.withResolvers<void>();
  #polling: Promise<void> | null = null;
  #listener: AsyncDisposable | null = null;
  #idleTimer: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(deps: EventTailDeps) {
    this.#deps = deps;
  }

  /**
   * Resolves when the subscription is active. It yields every event that is committed later and visible to `principal`, once
   * and in feed order. Throws SlowReaderError to a reader that falls behind. `return` ends it.
   */
  async subscribe(principal: Principal, query: TailQuery): Promise<EventStream> {
    if (this.#isClosed) throw unavailable("The server is stopping", 1);
    const key = principal.organizationId ?? OPERATOR_GROUP;
    const group =
      this.#groups.get(key) ?? new SubscriberGroup(principal, this.#deps.database, this.#semaphore);
    const subscription = group.add(query, () => this.#onUnsubscribed(key, group));
    this.#groups.set(key, group);
    this.#listen();
    const started = Promise.withResolvers<void>();
    this.#pendingSubscribers.push({ subscription, started });
    this.#wake();
    await started.promise;
    if (this.#isClosed) throw unavailable("The server is stopping", 1);
    return subscription.buffer;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    for (const group of this.#groups.values()) group.close();
    this.#wake();
    await this.#polling;
    await this.#stopListening();
  }

  #onUnsubscribed(key: string, group: SubscriberGroup): void {
    if (group.isEmpty) this.#groups.delete(key);
    if (this.#groups.size > 0 || this.#isClosed) return;
    this.#position = null;
    this.#idleTimer = setTimeout(() => void this.#stopListening(), IDLE_TIMEOUT_MS);
    this.#idleTimer.unref();
  }

  #listen(): void {
    if (this.#idleTimer) clearTimeout(this.#idleTimer);
    this.#idleTimer = null;
    if (this.#listener) return;
    const listener = new AsyncDisposableStack();
    listener.use(
      listenToChannel({
        url: this.#deps.databaseUrl,
        channel: EVENTS_CHANNEL,
        applicationName: "waymark event tail",
        logger: this.#deps.logger,
        onNotification: (payload) => this.#onNotify(payload),
      }),
    );
    const sweep = setInterval(() => this.#wake(), SWEEP_INTERVAL_MS);
    listener.defer(() => clearInterval(sweep));
    this.#listener = listener;
  }

  async #stopListening(): Promise<void> {
    if (this.#idleTimer) clearTimeout(this.#idleTimer);
    this.#idleTimer = null;
    const listener = this.#listener;
    this.#listener = null;
    await listener?.[Symbol.asyncDispose]();
  }

  #onNotify(payload: string): void {
    const isOurs = (id: string): boolean => this.#groups.has(id);
    if (payload === "" || isOurs(OPERATOR_GROUP) || payload.split(",").some(isOurs)) this.#wake();
  }

  #wake(): void {
    this.#isWoken = true;
    this.#woken.resolve();
    this.#polling ??= this.#pollUntilIdle().finally(() => this.#onPollingEnd());
  }

  #onPollingEnd(): void {
    this.#polling = null;
    if (this.#groups.size > 0 && this.#isWoken) return this.#wake();
    // These subscribers already left, or the server is stopping.
    for (const { started } of this.#pendingSubscribers.splice(0))
      started.reject(unavailable("The server is stopping", 1));
  }

  /** Polls until every event that was committed before the last wake-up is visible and read. */
  async #pollUntilIdle(): Promise<void> {
    let hiddenPollMs: number = HIDDEN_POLL_MS.min;
    let wantedTransaction = 0n;
    while (this.#groups.size > 0) {
      const wasWoken = this.#isWoken;
      this.#isWoken = false;
      this.#woken = Promise.withResolvers();
      const page = await this.#pollOrFail();
      if (page && wasWoken && page.nextTransaction > wantedTransaction)
        wantedTransaction = page.nextTransaction;
      const isCaughtUp = page !== null && page.feedEnd >= wantedTransaction;
      hiddenPollMs = wasWoken ? HIDDEN_POLL_MS.min : Math.min(hiddenPollMs * 2, HIDDEN_POLL_MS.max);
      await pause(MIN_POLL_INTERVAL_MS);
      if (this.#isWoken) continue;
      if (isCaughtUp) return;
      await withTimeout(this.#woken.promise, page === null ? RETRY_DELAY_MS : hiddenPollMs);
    }
  }

  /** Returns the first page, or null if the feed could not be read. Then pending subscribers get the error. */
  async #pollOrFail(): Promise<TailPage | null> {
    const pendingSubscribers = this.#pendingSubscribers;
    this.#pendingSubscribers = [];
    try {
      return await this.#poll(pendingSubscribers);
    } catch (error) {
      const reason = error instanceof Error ? error.message : "unknown";
      this.#deps.logger.warn({ reason }, "reading new events failed, retrying");
      for (const { subscription, started } of pendingSubscribers) {
        if (subscription.fromTransaction === null) started.reject(error);
        if (subscription.fromTransaction === null) void subscription.buffer.return();
      }
      return null;
    }
  }

  async #poll(pendingSubscribers: readonly PendingSubscriber[]): Promise<TailPage> {
    const principals = [...this.#groups.values()].map(({ principal }) => principal);
    const firstPage = await readNewEvents(this.#deps.database, principals, this.#position);
    // Events that are visible now were committed before these subscriptions.
    for (const { subscription, started } of pendingSubscribers) {
      subscription.fromTransaction = BigInt(firstPage.newestPosition.transaction_id) + 1n;
      subscription.buffer.cursor = feedCursor(firstPage.newestPosition);
      started.resolve();
    }
    let page = firstPage;
    this.#publish(page);
    while (page.hasMore && this.#groups.size > 0) {
      page = await readNewEvents(this.#deps.database, principals, this.#position);
      this.#publish(page);
    }
    return firstPage;
  }

  /** Pushes the page to the groups and advances the position. */
  #publish({ rows, hasMore, newestPosition }: TailPage): void {
    const last = rows.at(-1);
    // The next subscriber may come hours later and starts at the end of the feed.
    if (this.#groups.size === 0) {
      this.#position = null;
      return;
    }
    this.#position = hasMore && last ? last : newestPosition;
    for (const group of this.#groups.values()) {
      const visible = rows.filter((row) => isVisibleTo(group.principal, row));
      if (visible.length > 0) group.push(visible);
    }
  }
}
