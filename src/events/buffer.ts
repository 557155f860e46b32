/** A bounded queue of events for one subscription. A reader that falls behind gets a SlowReaderError. */

/** The buffer overflowed. The reader can get the events it missed from the feed. */
export class SlowReaderError extends Error {
  override readonly name = "SlowReaderError";

  constructor() {
    super("The reader is too slow");
  }
}

type Result<Item> = IteratorResult<Item, void>;

/**
 * An async iterator that the producer pushes to. A generator does not work: its `return` waits for the pending `next`, which
 * may never resolve.
 */
export class EventBuffer<Item> implements AsyncIterableIterator<Item, void> {
  /** The feed cursor after which the items start. */
  cursor: string | null = null;
  readonly #capacity: number;
  readonly #onEnd: () => void;
  #items: Item[] = [];
  #pendingReads: PromiseWithResolvers<Result<Item>>[] = [];
  #error: Error | null = null;
  #isClosed = false;

  /** `onEnd` is called once, when the reader or the producer ends the queue. */
  constructor(capacity: number, onEnd: () => void) {
    this.#capacity = capacity;
    this.#onEnd = onEnd;
  }

  push(item: Item): void {
    if (this.#isClosed) return;
    const reader = this.#pendingReads.shift();
    if (reader) reader.resolve({ done: false, value: item });
    else if (this.#items.length < this.#capacity) this.#items.push(item);
    else this.fail(new SlowReaderError());
  }

  /** Drops unread items; the reader's next read throws `error`. */
  fail(error: Error): void {
    if (this.#isClosed) return;
    const reader = this.#pendingReads.shift();
    if (reader) reader.reject(error);
    else this.#error = error;
    this.#end();
  }

  async next(): Promise<Result<Item>> {
    const error = this.#error;
    if (error) {
      this.#error = null;
      throw error;
    }
    const [item] = this.#items.splice(0, 1);
    if (item !== undefined) return { done: false, value: item };
    if (this.#isClosed) return { done: true, value: undefined };
    const reader = Promise.withResolvers<Result<Item>>();
    this.#pendingReads.push(reader);
    return await reader.promise;
  }

  async return(): Promise<Result<Item>> {
    this.#error = null;
    this.#end();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #end(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#items = [];
    for (const reader of this.#pendingReads.splice(0)) reader.resolve({ done: true, value: undefined });
    this.#onEnd();
  }
}
