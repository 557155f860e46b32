/** Splits updates into batches and joins their results. */
import type { BatchItem, BatchItemResult, BatchResult, Job } from "./generated/api.ts";
import { WaymarkError } from "./errors.ts";

/** The result of one item of `updateMany` and `updateBatch`. */
export type UpdateResult = { marking_number: string } & (
  | { success: true; job: Job; error?: never; error_code?: never; error_details?: never }
  | ({ success: false; job?: never } & Failure)
);

type Failure = Pick<Required<BatchItemResult>, "error" | "error_code" | "error_details">;

/** The result of `updateBatch`: one entry per item, in the order of the request. */
export interface UpdateResults extends Omit<BatchResult, "results"> {
  results: UpdateResult[];
}

/** Reads at most `size` items ahead of the results. `send` gets each batch with its number, from 1. */
export async function* updateInBatches(
  items: Iterable<BatchItem> | AsyncIterable<BatchItem>,
  size: number,
  send: (batch: BatchItem[], number: number) => PromiseLike<UpdateResults>,
): AsyncGenerator<UpdateResult, void, void> {
  let number = 0;
  for await (const batch of chunks(items, size)) {
    number += 1;
    const { results } = await send(batch, number);
    if (results.length !== batch.length)
      throw new WaymarkError(`The server returned ${results.length} results for ${batch.length} items`);
    yield* results;
  }
}

async function* chunks<Item>(
  items: Iterable<Item> | AsyncIterable<Item>,
  size: number,
): AsyncGenerator<Item[]> {
  let chunk: Item[] = [];
  for await (const item of items) {
    chunk.push(item);
    if (chunk.length < size) continue;
    yield chunk;
    chunk = [];
  }
  if (chunk.length > 0) yield chunk;
}
