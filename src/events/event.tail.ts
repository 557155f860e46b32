/**
 * The end of the feed, followed: one for each process, whoever listens in it. A notification says that there is something
 * to look for, the feed says what; so each event comes once and in the feed's order, and a notification that is lost, or a
 * connection, costs time and no event.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { Queryable } from "../platform/postgres/database.ts";
import { unavailable } from "../platform/errors.ts";
import type { Logger } from "../platform/logger.ts";
import { listenToChannel } from "../platform/postgres/notify.ts";
import type { Principal } from "../platform/principal.ts";
import { createSemaphore } from "../platform/concurrency/semaphore.ts";
import { isVisibleTo } from "../jobs/api.ts";
import { readNewEvents, type TailPage, type TailRow } from "./event.tail-query.ts";
import { feedCursorAt } from "./event.cursor.ts";
import { EVENTS_CHANNEL } from "./event.notifier.ts";
import type { FeedPosition } from "./event.service.ts";
import { SubscriberGroup, type Subscription, type TailQuery } from "./event.subscription.ts";

export interface EventTailDeps {
  /** For reading. */
  database: Queryable;
  /** For the connection on which it listens; there is none while nobody follows. */
  databaseUrl: string;
  logger: Logger;
}

export interface EventTail extends AsyncDisposable {
  /**
   * Resolves once the subscription stands: the events that `viewer` may see and that are committed from then on, each
   * once and in the feed's order. A reader that falls behind gets a SlowReaderError. `return` ends it at any moment.
   */
  subscribe(viewer: Principal, query: TailQuery): Promise<AsyncGenerator<TailRow, void, void>>;
}

/** What no notification told of. */
const SWEEP_INTERVAL_MS = 5_000;
/** Between looks, so that a flood of changes costs no flood of statements. */
const MIN_POLL_INTERVAL_MS = 20;
/** An event is withheld while an older transaction runs, and nobody tells when that ends. */
const HIDDEN_POLL_MS = { least: 50, most: 1_000 } as const;
const RETRY_DELAY_MS = 1_000;
/** Who comes back at once finds the connection still there. */
const IDLE_TIMEOUT_MS = 30_000;
/** Filters are held against events for so many audiences at once. */
const MAX_CONCURRENT_MATCHES = 2;
/** The audience of operators, beside those of organisations. */
const OPERATOR_GROUP = "operators";

interface PendingSubscriber {
  readonly subscription: Subscription;
  readonly started: PromiseWithResolvers<void>;
}

export function createEventTail(deps: EventTailDeps): EventTail {
  return new FeedTail(deps);
}

class FeedTail implements EventTail {
  readonly #deps: EventTailDeps;
  readonly #semaphore = createSemaphore(MAX_CONCURRENT_MATCHES);
  readonly #groups = new Map<string, SubscriberGroup>();
  #pendingSubscribers: PendingSubscriber[] = [];
  /** How far the feed was read. Null: nobody follows yet. */
  #position: FeedPosition | null = null;
  /** A look is wanted, for there may be something new. */
  #isWoken = false;
  #woken = Promise.withResolvers<void>();
  #polling: Promise<void> | null = null;
  #listener: AsyncDisposable | null = null;
  #idleTimer: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(deps: EventTailDeps) {
    this.#deps = deps;
  }

  async subscribe(principal: Principal, query: TailQuery): Promise<AsyncGenerator<TailRow, void, void>> {
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
    for (const audience of this.#groups.values()) audience.close();
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
    const listener = listenToChannel({
      url: this.#deps.databaseUrl,
      channel: EVENTS_CHANNEL,
      applicationName: "waymark event tail",
      logger: this.#deps.logger,
      onNotification: (payload) => this.#onNotify(payload),
    });
    const sweep = setInterval(() => this.#wake(), SWEEP_INTERVAL_MS);
    this.#listener = {
      async [Symbol.asyncDispose]() {
        clearInterval(sweep);
        await listener[Symbol.asyncDispose]();
      },
    };
  }

  async #stopListening(): Promise<void> {
    if (this.#idleTimer) clearTimeout(this.#idleTimer);
    this.#idleTimer = null;
    const listening = this.#listener;
    this.#listener = null;
    await listening?.[Symbol.asyncDispose]();
  }

  /** An empty payload means that anybody may have news. */
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
    // Whoever left before it began is waited for by nobody, or the server stops.
    for (const { started } of this.#pendingSubscribers.splice(0))
      started.reject(unavailable("The server is stopping", 1));
  }

  /** Looks until everything that was there when a look was wanted is shown, and ends. */
  async #pollUntilIdle(): Promise<void> {
    let hiddenPollMs: number = HIDDEN_POLL_MS.least;
    let wantedTransaction = 0n;
    while (this.#groups.size > 0) {
      const wasWoken = this.#isWoken;
      this.#isWoken = false;
      this.#woken = Promise.withResolvers();
      const page = await this.#pollOrFail();
      if (page && wasWoken && page.nextTransaction > wantedTransaction)
        wantedTransaction = page.nextTransaction;
      const isCaughtUp = page !== null && page.feedEnd >= wantedTransaction;
      hiddenPollMs = wasWoken ? HIDDEN_POLL_MS.least : Math.min(hiddenPollMs * 2, HIDDEN_POLL_MS.most);
      await pause(MIN_POLL_INTERVAL_MS);
      if (this.#isWoken) continue;
      if (isCaughtUp) return;
      await this.#waitFor(page === null ? RETRY_DELAY_MS : hiddenPollMs);
    }
  }

  /** Ends early when there is something new. */
  async #waitFor(ms: number): Promise<void> {
    const early = new AbortController();
    const rest = pause(ms, undefined, { signal: early.signal }).catch(() => undefined);
    await Promise.race([rest, this.#woken.promise]);
    early.abort();
  }

  /** The first of the looks, or null where the feed could not be read: then those who just came are refused. */
  async #pollOrFail(): Promise<TailPage | null> {
    const pendingSubscribers = this.#pendingSubscribers;
    this.#pendingSubscribers = [];
    try {
      return await this.#poll(pendingSubscribers);
    } catch (error) {
      const reason = error instanceof Error ? error.message : "unknown";
      this.#deps.logger.warn({ reason }, "reading new events failed; it is tried again");
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
    // What is shown by now happened before they came.
    for (const { subscription, started } of pendingSubscribers) {
      subscription.fromTransaction = BigInt(firstPage.newestPosition.transactionId) + 1n;
      subscription.buffer.cursor = feedCursorAt(firstPage.newestPosition);
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

  /** Hands on what was found, and moves on: to the last row, or past everything that is shown. */
  #publish({ rows, hasMore, newestPosition }: TailPage): void {
    const last = rows.at(-1);
    // Who comes next, perhaps hours later, begins at the feed's end and not here.
    if (this.#groups.size === 0) {
      this.#position = null;
      return;
    }
    this.#position =
      hasMore && last ? { transactionId: last.transaction_id, position: last.position } : newestPosition;
    for (const audience of this.#groups.values()) {
      const visible = rows.filter((row) => isVisibleTo(audience.principal, row));
      if (visible.length > 0) audience.push(visible);
    }
  }
}
