/** Splits updates into batches and joins their results. */
import type { BatchItem, BatchItemResult, BatchResult, Job, Problem } from "./generated/api.ts";
import { WaymarkError } from "./errors.ts";

/** The result of one item of `updateMany`. `index` counts from 0 over all items. */
export type UpdateResult =
  | { index: number; markingNumber: string; success: true; job: Job }
  | {
      index: number;
      markingNumber: string;
      success: false;
      /** An `error.code`; new ones may be added. */
      code: string;
      message: string;
      problems: readonly Problem[];
    };

/** Reads at most `size` items ahead of the results. `send` gets each batch with its number, from 1. */
export async function* updateInBatches(
  items: Iterable<BatchItem> | AsyncIterable<BatchItem>,
  size: number,
  send: (batch: BatchItem[], number: number) => PromiseLike<BatchResult>,
): AsyncGenerator<UpdateResult, void, void> {
  let count = 0;
  let number = 0;
  for await (const batch of chunks(items, size)) {
    number += 1;
    const { results } = await send(batch, number);
    if (results.length !== batch.length)
      throw new WaymarkError(`The server returned ${results.length} results for ${batch.length} items`);
    for (const result of results) {
      yield toResult(result, count);
      count += 1;
    }
  }
}

function toResult(
  { marking_number: markingNumber, job, ...failure }: BatchItemResult,
  index: number,
): UpdateResult {
  if (job) return { index, markingNumber, success: true, job };
  const { error: message = "", error_code: code = "", error_details: problems } = failure;
  return { index, markingNumber, success: false, code, message, problems: problems ?? [] };
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
