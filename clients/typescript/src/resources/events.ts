/** The events feed: read it once, or follow it. */
import {
  followEvents,
  followPages,
  type EventPage,
  type FollowOptions,
  type FollowPagesOptions,
} from "../follow.ts";
import type { Event, Operations } from "../generated/api.ts";
import type { ApiCall, RequestOptions, Transport } from "../transport.ts";

type FeedQuery = Operations["listEvents"]["query"];

export class Events {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Yields the events after the cursor `after`, oldest first, until there are no more for now. */
  async *list(query: FeedQuery = {}, options?: RequestOptions): AsyncGenerator<Event, void, void> {
    let after = query.after;
    let hasMore = true;
    while (hasMore) {
      const page = await this.listPage({ ...query, after }, options);
      yield* page.items;
      after = page.next_cursor ?? undefined;
      hasMore = page.has_more;
    }
  }

  /** One page of the feed, oldest event first. Throws a GoneError if events after the cursor have left the feed. */
  listPage(query: FeedQuery = {}, options?: RequestOptions): ApiCall<Operations["listEvents"]["data"]> {
    return this.#transport.call("listEvents", { query }, options);
  }

  /**
   * Yields each event from the stored cursor on, and waits for new ones until `signal` aborts. The cursor of a page is stored
   * when the caller asks for the event after the page, so after a crash the last page comes again: ignore an event whose
   * `data.sequence` is not above the stored version of its job. With `start: "latest"` the first cursor is stored at once.
   */
  follow(options: FollowOptions): AsyncGenerator<Event, void, void> {
    return followEvents(this.#transport, options);
  }

  /**
   * Like `follow`, by pages: store `cursor` in the same transaction as the effects of `events`, and pass it as `after` next time.
   * A page without events moves the cursor too: the first page with `start: "latest"`, and one past events of other types.
   */
  followPages(options: FollowPagesOptions): AsyncGenerator<EventPage, void, void> {
    return followPages(this.#transport, options);
  }
}
