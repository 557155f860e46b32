/** Buffers results until the next claim records them. They survive claims that fail while PostgreSQL is unavailable. */
import { isDataError } from "../../platform/postgres/errors.ts";
import type { Queryable } from "../../platform/postgres/database.ts";
import type { Logger } from "../../platform/logger.ts";
import type { Resolution } from "./attempt.ts";
import { recordFinished, type FinishedDelivery } from "./claim.ts";
import { mergeStateChanges, type EndpointStateChange } from "../endpoints/state-changes.ts";

export interface ResultBatch {
  readonly finished: readonly FinishedDelivery[];
  /** By endpoint id. */
  readonly stateChanges: ReadonlyMap<string, EndpointStateChange>;
  /** Delays, counted from the record of the results, after which endpoints have work again. */
  readonly wakeUps: readonly (readonly [endpointId: string, delayMs: number])[];
}

export class ResultBuffer {
  readonly #database: Queryable;
  readonly #logger: Logger;
  #finished: FinishedDelivery[] = [];
  #wakeUps: (readonly [string, number])[] = [];
  #stateChanges = new Map<string, EndpointStateChange>();

  constructor(database: Queryable, logger: Logger) {
    this.#database = database;
    this.#logger = logger;
  }

  isEmpty(): boolean {
    return this.#finished.length === 0 && this.#stateChanges.size === 0;
  }

  add(endpointId: string, { finished, stateChange, wakeUpDelaysMs }: Resolution): void {
    this.#finished.push(finished);
    if (stateChange) this.#mergeStateChange(endpointId, stateChange);
    for (const delayMs of wakeUpDelaysMs) this.#wakeUps.push([endpointId, delayMs]);
  }

  /** Removes and returns everything in the buffer. */
  take(): ResultBatch {
    const batch = { finished: this.#finished, stateChanges: this.#stateChanges, wakeUps: this.#wakeUps };
    [this.#finished, this.#stateChanges, this.#wakeUps] = [[], new Map<string, EndpointStateChange>(), []];
    return batch;
  }

  /** Puts a batch back in front after its claim failed with `error`. */
  async restore({ finished, stateChanges, wakeUps }: ResultBatch, error: unknown): Promise<void> {
    const unrecorded = isDataError(error) ? await this.#recordOneByOne(finished) : finished;
    const newerChanges = this.#stateChanges;
    this.#finished = [...unrecorded, ...this.#finished];
    this.#wakeUps = [...wakeUps, ...this.#wakeUps];
    this.#stateChanges = new Map(stateChanges);
    for (const [endpointId, change] of newerChanges) this.#mergeStateChange(endpointId, change);
  }

  #mergeStateChange(endpointId: string, change: EndpointStateChange): void {
    this.#stateChanges.set(endpointId, mergeStateChanges(this.#stateChanges.get(endpointId), change));
  }

  /** Records results one by one, so that one that PostgreSQL rejects does not block the others. Its lease expires. */
  async #recordOneByOne(finished: readonly FinishedDelivery[]): Promise<FinishedDelivery[]> {
    const unrecorded: FinishedDelivery[] = [];
    for (const delivery of finished) {
      try {
        await recordFinished(this.#database, [delivery]);
      } catch (error) {
        if (!isDataError(error)) unrecorded.push(delivery);
        else
          this.#logger.error(
            { delivery: delivery.id, error: (error as Error).message },
            "recording an attempt failed",
          );
      }
    }
    return unrecorded;
  }
}
