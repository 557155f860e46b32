/** What has ended since the last turn, until it is recorded: nothing of it may be lost while PostgreSQL is away. */
import { isRefusedData } from "../platform/database-errors.ts";
import type { Queryable } from "../platform/database.ts";
import type { Logger } from "../platform/logger.ts";
import type { Settled } from "./dispatcher.attempt.ts";
import { recordEnded, type Ended } from "./dispatcher.turn.ts";
import { mergeChanges, type EndpointChange } from "./endpoint-changes.ts";

export interface Batch {
  readonly ended: readonly Ended[];
  /** What it tells of endpoints. */
  readonly changes: ReadonlyMap<string, EndpointChange>;
  /** How long each endpoint then waits until it is to be looked at again, in milliseconds. */
  readonly wakes: readonly (readonly [endpointId: string, inMs: number])[];
}

export class Results {
  readonly #database: Queryable;
  readonly #logger: Logger;
  #ended: Ended[] = [];
  #wakes: (readonly [string, number])[] = [];
  #changes = new Map<string, EndpointChange>();

  constructor(database: Queryable, logger: Logger) {
    this.#database = database;
    this.#logger = logger;
  }

  isEmpty(): boolean {
    return this.#ended.length === 0 && this.#changes.size === 0;
  }

  add(endpointId: string, { ended, change, wakesInMs }: Settled): void {
    this.#ended.push(ended);
    if (change) this.#change(endpointId, change);
    for (const inMs of wakesInMs) this.#wakes.push([endpointId, inMs]);
  }

  /** Hands over all there is: what ended, and what that tells of endpoints, belong together. */
  take(): Batch {
    const batch = { ended: this.#ended, changes: this.#changes, wakes: this.#wakes };
    [this.#ended, this.#changes, this.#wakes] = [[], new Map<string, EndpointChange>(), []];
    return batch;
  }

  /** Takes back a batch whose turn failed with `error`; what has come since is later. */
  async takeBack({ ended, changes, wakes }: Batch, error: unknown): Promise<void> {
    const left = isRefusedData(error) ? await this.#recordOneByOne(ended) : ended;
    const later = this.#changes;
    this.#ended = [...left, ...this.#ended];
    this.#wakes = [...wakes, ...this.#wakes];
    this.#changes = new Map(changes);
    for (const [endpointId, change] of later) this.#change(endpointId, change);
  }

  #change(endpointId: string, change: EndpointChange): void {
    this.#changes.set(endpointId, mergeChanges(this.#changes.get(endpointId), change));
  }

  /** One record that PostgreSQL refuses must not keep the others: it is left out, and its lease runs out. */
  async #recordOneByOne(ended: readonly Ended[]): Promise<Ended[]> {
    const left: Ended[] = [];
    for (const one of ended) {
      try {
        await recordEnded(this.#database, [one]);
      } catch (error) {
        if (!isRefusedData(error)) left.push(one);
        else
          this.#logger.error(
            { delivery: one.id, error: (error as Error).message },
            "an attempt cannot be recorded",
          );
      }
    }
    return left;
  }
}
