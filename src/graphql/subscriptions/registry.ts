/** The subscriptions of one connection: counts them and tracks which IDs are in use. */
import { AppError } from "../../platform/errors.ts";
import { subscriptionLimits } from "./limits.ts";

export interface SubscriptionSlot {
  readonly id: string;
  /** Marks the subscription as ended. Its last messages may still be unsent. */
  release(): void;
}

/**
 * graphql-ws forgets an ID as soon as the client sends `complete`, even while the subscription is still starting. So its own
 * list gives neither the number of subscriptions nor the free IDs.
 */
export class SubscriptionRegistry {
  /** An ID stays in use until the last message of its subscription is sent. */
  readonly #ids = new Set<string>();
  readonly #running = new Set<SubscriptionSlot>();
  #lastReserved: SubscriptionSlot | null = null;

  /** Returns null if the ID is still in use. */
  reserve(id: string): SubscriptionSlot | null {
    if (this.#ids.has(id)) return null;
    const slot: SubscriptionSlot = { id, release: () => void this.#running.delete(slot) };
    this.#ids.add(id);
    this.#running.add(slot);
    this.#lastReserved = slot;
    return slot;
  }

  /** Throws TooManyRequestsException if more slots are reserved than allowed. */
  assertCapacity(): void {
    const max = subscriptionLimits.subscriptionsPerConnection;
    if (this.#running.size > max)
      throw new AppError("TooManyRequestsException", `A WebSocket can have at most ${max} subscriptions`);
  }

  /** Runs `handle` for one message, then frees the slot that it reserved. It must reserve a slot synchronously or not at all. */
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
