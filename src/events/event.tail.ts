/**
 * The end of the feed, followed: one for each process, whoever listens in it. A notification says that there is something
 * to look for, the feed says what; so each event comes once and in the feed's order, and a notification that is lost, or a
 * connection, costs time and no event.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { Queryable } from "../platform/database.ts";
import { unavailable } from "../platform/errors.ts";
import type { Logger } from "../platform/logger.ts";
import { listenTo } from "../platform/notifications.ts";
import type { Viewer } from "../platform/principal.ts";
import { createTurnstile } from "../platform/turnstile.ts";
import { isVisibleTo } from "../jobs/job.visibility.ts";
import { lookForEvents, type Look, type TailRow } from "./event.look.ts";
import { feedCursorAt } from "./event.cursor.ts";
import { EVENTS_CHANNEL } from "./event.notifier.ts";
import type { FeedPosition } from "./event.service.ts";
import { Audience, type Subscription, type TailQuery } from "./event.subscription.ts";

export interface EventTailParts {
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
  jobChanged(viewer: Viewer, query: TailQuery): Promise<AsyncGenerator<TailRow, void, void>>;
}

/** What no notification told of. */
const SWEEP_EVERY_MS = 5_000;
/** Between looks, so that a flood of changes costs no flood of statements. */
const GAP_MS = 20;
/** An event is withheld while an older transaction runs, and nobody tells when that ends. */
const WITHHELD_MS = { least: 50, most: 1_000 } as const;
const RETRY_MS = 1_000;
/** Who comes back at once finds the connection still there. */
const LINGER_MS = 30_000;
/** Filters are held against events for so many audiences at once. */
const MATCH_AT_ONCE = 2;
/** The audience of operators, beside those of organisations. */
const OPERATORS = "operators";

interface Newcomer {
  readonly subscription: Subscription;
  readonly begun: PromiseWithResolvers<void>;
}

export function createEventTail(parts: EventTailParts): EventTail {
  return new Tail(parts);
}

class Tail implements EventTail {
  readonly #parts: EventTailParts;
  readonly #turnstile = createTurnstile(MATCH_AT_ONCE);
  readonly #audiences = new Map<string, Audience>();
  #newcomers: Newcomer[] = [];
  /** How far the feed was read. Null: nobody follows yet. */
  #after: FeedPosition | null = null;
  /** A look is wanted, for there may be something new. */
  #isDue = false;
  #poked = Promise.withResolvers<void>();
  #running: Promise<void> | null = null;
  #listening: AsyncDisposable | null = null;
  #linger: NodeJS.Timeout | null = null;
  #isOver = false;

  constructor(parts: EventTailParts) {
    this.#parts = parts;
  }

  async jobChanged(viewer: Viewer, query: TailQuery): Promise<AsyncGenerator<TailRow, void, void>> {
    if (this.#isOver) throw unavailable("The server is stopping", 1);
    const key = viewer.organizationId ?? OPERATORS;
    const audience = this.#audiences.get(key) ?? new Audience(viewer, this.#parts.database, this.#turnstile);
    const subscription = audience.add(query, () => this.#leave(key, audience));
    this.#audiences.set(key, audience);
    this.#listen();
    const begun = Promise.withResolvers<void>();
    this.#newcomers.push({ subscription, begun });
    this.#poke();
    await begun.promise;
    if (this.#isOver) throw unavailable("The server is stopping", 1);
    return subscription.buffer;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    for (const audience of this.#audiences.values()) audience.close();
    this.#poke();
    await this.#running;
    await this.#stopListening();
  }

  #leave(key: string, audience: Audience): void {
    if (audience.isEmpty) this.#audiences.delete(key);
    if (this.#audiences.size > 0 || this.#isOver) return;
    this.#after = null;
    this.#linger = setTimeout(() => void this.#stopListening(), LINGER_MS);
    this.#linger.unref();
  }

  #listen(): void {
    if (this.#linger) clearTimeout(this.#linger);
    this.#linger = null;
    if (this.#listening) return;
    const listener = listenTo({
      url: this.#parts.databaseUrl,
      channel: EVENTS_CHANNEL,
      name: "waymark events",
      logger: this.#parts.logger,
      onNotification: (payload) => this.#hear(payload),
    });
    const sweep = setInterval(() => this.#poke(), SWEEP_EVERY_MS);
    this.#listening = {
      async [Symbol.asyncDispose]() {
        clearInterval(sweep);
        await listener[Symbol.asyncDispose]();
      },
    };
  }

  async #stopListening(): Promise<void> {
    if (this.#linger) clearTimeout(this.#linger);
    this.#linger = null;
    const listening = this.#listening;
    this.#listening = null;
    await listening?.[Symbol.asyncDispose]();
  }

  /** An empty payload means that anybody may have news. */
  #hear(payload: string): void {
    const isOurs = (id: string): boolean => this.#audiences.has(id);
    if (payload === "" || isOurs(OPERATORS) || payload.split(",").some(isOurs)) this.#poke();
  }

  #poke(): void {
    this.#isDue = true;
    this.#poked.resolve();
    this.#running ??= this.#run().finally(() => this.#hasRun());
  }

  #hasRun(): void {
    this.#running = null;
    if (this.#audiences.size > 0 && this.#isDue) return this.#poke();
    // Whoever left before it began is waited for by nobody, or the server stops.
    for (const { begun } of this.#newcomers.splice(0)) begun.reject(unavailable("The server is stopping", 1));
  }

  /** Looks until everything that was there when a look was wanted is shown, and ends. */
  async #run(): Promise<void> {
    let withheldMs: number = WITHHELD_MS.least;
    let wanted = 0n;
    while (this.#audiences.size > 0) {
      const isFresh = this.#isDue;
      this.#isDue = false;
      this.#poked = Promise.withResolvers();
      const look = await this.#lookOrFail();
      if (look && isFresh && look.next > wanted) wanted = look.next;
      const isShown = look !== null && look.end >= wanted;
      withheldMs = isFresh ? WITHHELD_MS.least : Math.min(withheldMs * 2, WITHHELD_MS.most);
      await pause(GAP_MS);
      if (this.#isDue) continue;
      if (isShown) return;
      await this.#restFor(look === null ? RETRY_MS : withheldMs);
    }
  }

  /** Ends early when there is something new. */
  async #restFor(ms: number): Promise<void> {
    const early = new AbortController();
    const rest = pause(ms, undefined, { signal: early.signal }).catch(() => undefined);
    await Promise.race([rest, this.#poked.promise]);
    early.abort();
  }

  /** The first of the looks, or null where the feed could not be read: then those who just came are refused. */
  async #lookOrFail(): Promise<Look | null> {
    const newcomers = this.#newcomers;
    this.#newcomers = [];
    try {
      return await this.#lookThrough(newcomers);
    } catch (error) {
      const reason = error instanceof Error ? error.message : "unknown";
      this.#parts.logger.warn({ reason }, "reading new events failed; it is tried again");
      for (const { subscription, begun } of newcomers) {
        if (subscription.from === null) begun.reject(error);
        if (subscription.from === null) void subscription.buffer.return();
      }
      return null;
    }
  }

  async #lookThrough(newcomers: readonly Newcomer[]): Promise<Look> {
    const viewers = [...this.#audiences.values()].map(({ viewer }) => viewer);
    const first = await lookForEvents(this.#parts.database, viewers, this.#after);
    // What is shown by now happened before they came.
    for (const { subscription, begun } of newcomers) {
      subscription.from = BigInt(first.newest.transactionId) + 1n;
      subscription.buffer.cursor = feedCursorAt(first.newest);
      begun.resolve();
    }
    let look = first;
    this.#tell(look);
    while (look.isFull && this.#audiences.size > 0) {
      look = await lookForEvents(this.#parts.database, viewers, this.#after);
      this.#tell(look);
    }
    return first;
  }

  /** Hands on what was found, and moves on: to the last row, or past everything that is shown. */
  #tell({ rows, isFull, newest }: Look): void {
    const last = rows.at(-1);
    // Who comes next, perhaps hours later, begins at the feed's end and not here.
    if (this.#audiences.size === 0) {
      this.#after = null;
      return;
    }
    this.#after = isFull && last ? { transactionId: last.transaction_id, position: last.position } : newest;
    for (const audience of this.#audiences.values()) {
      const visible = rows.filter((row) => isVisibleTo(audience.viewer, row));
      if (visible.length > 0) audience.tell(visible);
    }
  }
}
