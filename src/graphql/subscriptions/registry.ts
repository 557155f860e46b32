/** The subscriptions of one socket, from their first message to their last: what counts against the limit, and whose ids are taken. */
import { AppError } from "../../platform/errors.ts";
import { subscriptionLimits } from "./limits.ts";

export interface SubscriptionSlot {
  readonly id: string;
  /** It runs no more, though its last messages may be under way. */
  release(): void;
}

/**
 * The protocol's library forgets an id as soon as the client says `complete`, also where the subscription has only begun to
 * begin. So its own list says neither how many there are nor that an id is free.
 */
export class SubscriptionRegistry {
  /** Until the last message of each is sent. */
  readonly #ids = new Set<string>();
  readonly #running = new Set<SubscriptionSlot>();
  #lastReserved: SubscriptionSlot | null = null;

  /** Null: a subscription of this id is not wholly gone. */
  reserve(id: string): SubscriptionSlot | null {
    if (this.#ids.has(id)) return null;
    const slot: SubscriptionSlot = { id, release: () => void this.#running.delete(slot) };
    this.#ids.add(id);
    this.#running.add(slot);
    this.#lastReserved = slot;
    return slot;
  }

  /** Throws where more are taken than one socket may hold. */
  assertCapacity(): void {
    const max = subscriptionLimits.subscriptionsPerConnection;
    if (this.#running.size > max)
      throw new AppError("TooManyRequestsException", `At most ${max} subscriptions stand on one WebSocket`);
  }

  /** `handle` serves one message, and is done when whatever that began is; it takes a place at once, or none. */
  async track(handle: () => Promise<void>): Promise<void> {
    this.#lastReserved = null;
    const handled = handle();
    const slot = this.#lastReserved as SubscriptionSlot | null;
    try {
      await handled;
    } finally {
      if (slot) this.#ids.delete(slot.id);
      slot?.release();
    }
  }
}
