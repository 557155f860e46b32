/** Follows the events feed: polls, waits out failures, and never skips events in silence. */
import { ApiError, ConnectionError, GoneError, WaymarkError } from "./errors.ts";
import type { Event, Feed, Operations } from "./generated/api.ts";
import type { Transport } from "./transport.ts";

/** Keeps the cursor of the feed, for example in a database or file. */
export interface CursorStore {
  /** Returns the stored cursor; null at the first start. */
  load(): string | null | Promise<string | null>;
  save(cursor: string): void | Promise<void>;
}

/** Where to continue: with new events only, or with the oldest event of the feed. */
export type FollowFrom = "latest" | "oldest";

export interface FollowPagesOptions {
  /** The cursor to continue from. Default: `start`. */
  after?: string | null | undefined;
  /** Where to start without a cursor. Default: "oldest". */
  start?: FollowFrom | undefined;
  /** Only events of these types. Default: all. */
  types?: Operations["listEvents"]["query"]["types"];
  /** Ends the iteration, without an error. */
  signal?: AbortSignal | undefined;
  /** Sent with each request. */
  headers?: Readonly<Record<string, string>> | undefined;
  /** Wait between requests that return no new events, in ms. Default: 5,000; at least 1,000. */
  pollIntervalMs?: number | undefined;
  /**
   * Called if events after the cursor have left the feed, after more than 30 days. Reconcile with `jobs.list()`, then return
   * "latest": the client continues from the cursor that it took before the call, so no change is missed. Or return "oldest" to
   * continue with the oldest event, without those that left. If it throws, the iteration throws that error and the stored cursor
   * stays.
   */
  onGone: (error: GoneError) => FollowFrom | Promise<FollowFrom>;
  /** Called for each failure that the iteration waits out: no connection, a rate limit, or an error of the server. */
  onRetry?: ((error: ApiError | ConnectionError, delayMs: number) => void) | undefined;
}

export interface FollowOptions extends Omit<FollowPagesOptions, "after"> {
  store: CursorStore;
}

export interface EventPage {
  events: Event[];
  /** Pass it as `after` to continue after these events. */
  cursor: string;
}

const DEFAULT_INTERVAL_MS = 5_000;
const MIN_INTERVAL_MS = 1_000;
const MAX_FAILURE_DELAY_MS = 60_000;

export async function* followEvents(
  transport: Transport,
  { store, ...options }: FollowOptions,
): AsyncGenerator<Event, void, void> {
  for await (const { events, cursor } of followPages(transport, { ...options, after: await store.load() })) {
    for (const event of events) {
      if (options.signal?.aborted) return;
      yield event;
    }
    await store.save(cursor);
  }
}

export async function* followPages(
  transport: Transport,
  options: FollowPagesOptions,
): AsyncGenerator<EventPage, void, void> {
  // Programs without types could forget it, and would notice only after 30 days.
  if (typeof options?.onGone !== "function")
    throw new WaymarkError("Pass onGone, which reconciles if events have left the feed");
  const feed = new FollowedFeed(transport, options);
  try {
    let cursor = options.after ?? null;
    if (cursor === null && options.start === "latest") {
      cursor = await feed.latest();
      // Saved before the first event: a new start with "latest" would skip the events since this one.
      if (cursor !== null) yield { events: [], cursor };
    }
    while (!options.signal?.aborted) {
      const page = await feed.readOrReconcile(cursor);
      const isNew = page.next_cursor !== null && page.next_cursor !== cursor;
      cursor = page.next_cursor;
      // An empty page can move the cursor too: past events of other types.
      if (isNew && cursor !== null) yield { events: page.items, cursor };
      if (!page.has_more) await feed.waitForEvents();
    }
  } catch (error) {
    if (!options.signal?.aborted) throw error;
  }
}

class FollowedFeed {
  readonly #transport: Transport;
  readonly #options: FollowPagesOptions;

  constructor(transport: Transport, options: FollowPagesOptions) {
    this.#transport = transport;
    this.#options = options;
  }

  /** Returns the cursor after which the feed has only new events. */
  async latest(): Promise<string | null> {
    return (await this.#read("latest")).next_cursor;
  }

  /** Returns the page after `cursor`, after `onGone` if events were lost. */
  async readOrReconcile(cursor: string | null): Promise<Feed> {
    try {
      return await this.#read(cursor);
    } catch (error) {
      if (!(error instanceof GoneError)) throw error;
      // Taken first, so that changes during the reconciliation are in the feed after it.
      const latest = await this.#read("latest");
      // The oldest cursor of the error may have expired meanwhile, so "oldest" is the start of the feed.
      return (await this.#options.onGone(error)) === "latest" ? latest : await this.#read(null);
    }
  }

  /** Waits for the poll interval, up to a tenth longer so that clients don't poll together. */
  async waitForEvents(): Promise<void> {
    const { pollIntervalMs = DEFAULT_INTERVAL_MS, signal } = this.#options;
    const intervalMs = Math.max(MIN_INTERVAL_MS, pollIntervalMs);
    await this.#transport.sleep(intervalMs * (1 + Math.random() / 10), signal);
  }

  /** Reads a page and waits out failures. `after` is null for the oldest event. */
  async #read(after: string | null): Promise<Feed> {
    const { types, signal, headers, onRetry } = this.#options;
    const query = { after: after ?? undefined, types };
    for (let failures = 1; ; failures += 1) {
      try {
        return await this.#transport.call("listEvents", { query }, { signal, headers });
      } catch (error) {
        if (!isTemporary(error)) throw error;
        const backoffMs = Math.min(MAX_FAILURE_DELAY_MS, DEFAULT_INTERVAL_MS * 2 ** (failures - 1));
        const retryAfterMs = error instanceof ApiError ? (error.retryAfter ?? 0) * 1_000 : 0;
        const delayMs = Math.max(backoffMs, retryAfterMs) * (1 + Math.random() / 10);
        onRetry?.(error, delayMs);
        await this.#transport.sleep(delayMs, signal);
      }
    }
  }
}

function isTemporary(error: unknown): error is ApiError | ConnectionError {
  return (
    error instanceof ConnectionError ||
    (error instanceof ApiError && (error.status === 429 || error.status >= 500))
  );
}
