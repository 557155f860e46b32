/** What has ended since the last turn, until it is recorded: nothing of it may be lost while PostgreSQL is away. */
import { isDataError } from "../../platform/postgres/errors.ts";
import type { Queryable } from "../../platform/postgres/database.ts";
import type { Logger } from "../../platform/logger.ts";
import type { Resolution } from "./attempt.ts";
import { recordFinished, type FinishedDelivery } from "./claim.ts";
import { mergeStateChanges, type EndpointStateChange } from "../endpoints/state-changes.ts";

export interface ResultBatch {
  readonly finished: readonly FinishedDelivery[];
  /** What it tells of endpoints. */
  readonly stateChanges: ReadonlyMap<string, EndpointStateChange>;
  /** How long each endpoint then waits until it is to be looked at again, in milliseconds. */
  readonly wakeUps: readonly (readonly [endpointId: string, inMs: number])[];
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
    for (const inMs of wakeUpDelaysMs) this.#wakeUps.push([endpointId, inMs]);
  }

  /** Hands over all there is: what ended, and what that tells of endpoints, belong together. */
  take(): ResultBatch {
    const batch = { finished: this.#finished, stateChanges: this.#stateChanges, wakeUps: this.#wakeUps };
    [this.#finished, this.#stateChanges, this.#wakeUps] = [[], new Map<string, EndpointStateChange>(), []];
    return batch;
  }

  /** Takes back a batch whose turn failed with `error`; what has come since is later. */
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

  /** One record that PostgreSQL refuses must not keep the others: it is left out, and its lease runs out. */
  async #recordOneByOne(finished: readonly FinishedDelivery[]): Promise<FinishedDelivery[]> {
    const unrecorded: FinishedDelivery[] = [];
    for (const one of finished) {
      try {
        await recordFinished(this.#database, [one]);
      } catch (error) {
        if (!isDataError(error)) unrecorded.push(one);
        else
          this.#logger.error(
            { delivery: one.id, error: (error as Error).message },
            "an attempt cannot be recorded",
          );
      }
    }
    return unrecorded;
  }
}
