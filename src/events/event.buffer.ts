/** A bounded queue between what happens and whoever reads of it; a reader who falls too far behind is told so, once. */

/** The reader took longer than its buffer lasts. What it missed is in the feed. */
export class SlowReaderError extends Error {
  override readonly name = "SlowReaderError";

  constructor() {
    super("The reader is too slow");
  }
}

type Result<Item> = IteratorResult<Item, void>;

/**
 * Read as an async generator. Written by hand, for `return` of a native one waits for the `next` that is under way, which
 * here is one for an event that may never come.
 */
export class EventBuffer<Item> implements AsyncGenerator<Item, void, void> {
  /** The feed's cursor from which on its items come. */
  cursor: string | null = null;
  readonly #capacity: number;
  readonly #onEnd: () => void;
  #items: Item[] = [];
  #pendingReads: PromiseWithResolvers<Result<Item>>[] = [];
  #error: Error | null = null;
  #isClosed = false;

  /** `onEnd` is called once, whoever ends it. */
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

  /** What is still unread is dropped; the reader gets `failure` next. */
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

  async throw(error: unknown): Promise<Result<Item>> {
    await this.return();
    throw error;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  #end(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#items = [];
    for (const reader of this.#pendingReads.splice(0)) reader.resolve({ done: true, value: undefined });
    this.#onEnd();
  }
}
