/** The subscriptions of one socket, from their first message to their last: what counts against the limit, and whose ids are taken. */
import { AppError } from "../platform/errors.ts";
import { subscriptionLimits } from "./subscription-limits.ts";

export interface Place {
  readonly id: string;
  /** It runs no more, though its last messages may be under way. */
  end(): void;
}

/**
 * The protocol's library forgets an id as soon as the client says `complete`, also where the subscription has only begun to
 * begin. So its own list says neither how many there are nor that an id is free.
 */
export class Places {
  /** Until the last message of each is sent. */
  readonly #ids = new Set<string>();
  readonly #running = new Set<Place>();
  #latest: Place | null = null;

  /** Null: a subscription of this id is not wholly gone. */
  take(id: string): Place | null {
    if (this.#ids.has(id)) return null;
    const place: Place = { id, end: () => void this.#running.delete(place) };
    this.#ids.add(id);
    this.#running.add(place);
    this.#latest = place;
    return place;
  }

  /** Throws where more are taken than one socket may hold. */
  refuseTooMany(): void {
    const most = subscriptionLimits.subscriptionsPerSocket;
    if (this.#running.size > most)
      throw new AppError("TooManyRequestsException", `At most ${most} subscriptions stand on one WebSocket`);
  }

  /** `handle` serves one message, and is done when whatever that began is; it takes a place at once, or none. */
  async during(handle: () => Promise<void>): Promise<void> {
    this.#latest = null;
    const handled = handle();
    const place = this.#latest as Place | null;
    try {
      await handled;
    } finally {
      if (place) this.#ids.delete(place.id);
      place?.end();
    }
  }
}
