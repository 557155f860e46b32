/** Delivery jobs: read, list, update one or many. */
import type { BatchItem, HistoryEntry, Job, JobPatch, Operations } from "../generated/api.ts";
import { itemsByCursor, itemsByPage, MAX_PAGE_SIZE } from "../lists.ts";
import {
  ownKeyOf,
  type ApiCall,
  type ChangeOptions,
  type RequestOptions,
  type Transport,
} from "../transport.ts";
import { updateInBatches, type UpdateResult, type UpdateResults } from "../update-many.ts";

/** The most items of a batch. */
const MAX_BATCH_SIZE = 100;

type ListQuery = Operations["listJobs"]["query"];

export interface UpdateOptions extends ChangeOptions {
  /** Validates and returns the result without changing anything. */
  dryRun?: boolean | undefined;
}

export interface BatchOptions extends UpdateOptions {
  /** `stop_all`: no job changes if one item fails. Default: `continue`. */
  onError?: "continue" | "stop_all" | undefined;
}

type Reschedule = Operations["rescheduleJobs"]["body"];

export class Jobs {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Yields every job that matches. Sorted by `created_at` or `-created_at` (the default), it yields each job exactly once even if
   * jobs change meanwhile. `page_size` is the number of jobs per request (default: 100).
   */
  list(
    query: Omit<ListQuery, "page" | "cursor"> = {},
    options?: RequestOptions,
  ): AsyncGenerator<Job, void, void> {
    return itemsByCursor((cursor) => this.listPage({ page_size: MAX_PAGE_SIZE, ...query, cursor }, options));
  }

  /** One page of the list, with the number of all matching jobs. */
  listPage(query: ListQuery = {}, options?: RequestOptions): ApiCall<Operations["listJobs"]["data"]> {
    return this.#transport.call("listJobs", { query }, options);
  }

  /**
   * Counts the jobs that match, in total and by the keys of `group_by`. Groups are the largest first. `sums` adds totals of number
   * fields.
   */
  getStats(
    query: Operations["getJobStats"]["query"] = {},
    options?: RequestOptions,
  ): ApiCall<Operations["getJobStats"]["data"]> {
    return this.#transport.call("getJobStats", { query }, options);
  }

  /** Looks up 1 to 100 jobs. The result has one entry per Marking Number, in the same order: null if the API key sees no such job. */
  async lookUp(
    markingNumbers: string[],
    options?: RequestOptions,
  ): Promise<Operations["lookUpJobs"]["data"]["items"]> {
    const body = { marking_numbers: markingNumbers };
    return (await this.#transport.call("lookUpJobs", { body }, options)).items;
  }

  /** Throws a NotFoundError if the API key sees no such job. The `etag` header has the job's version. */
  get(markingNumber: string, options?: RequestOptions): ApiCall<Job> {
    return this.#transport.call("getJob", { path: { markingNumber } }, options);
  }

  /** Returns null if the job still has the version `etag`, with its quotes. */
  async getIfChanged(markingNumber: string, etag: string, options?: RequestOptions): Promise<Job | null> {
    const call = this.#transport.call(
      "getJob",
      { path: { markingNumber } },
      { ...options, ifNoneMatch: etag },
    );
    const { status, data } = await call.withResponse();
    return status === 304 ? null : data;
  }

  /**
   * Changes the fields in `patch`: absent fields keep their values, null clears a field. With `ifMatch`, an ETag with its quotes, it
   * throws a PreconditionFailedError if the job has another version.
   */
  update(
    markingNumber: string,
    patch: JobPatch,
    { dryRun, ...options }: UpdateOptions & { ifMatch?: string | undefined } = {},
  ): ApiCall<Job> {
    const input = { path: { markingNumber }, query: { dry_run: dryRun }, body: patch };
    return this.#transport.call("updateJob", input, options);
  }

  /**
   * Updates up to 100 jobs, each independently of the others: an item that fails is in `results`, and throws nothing. With `onError:
   * "stop_all"`, no job changes if one item fails.
   */
  updateBatch(jobs: BatchItem[], { dryRun, onError, ...options }: BatchOptions = {}): ApiCall<UpdateResults> {
    const input = { query: { dry_run: dryRun, on_error: onError }, body: { jobs } };
    // The document can't say that an item has either `job` or the members of a failure.
    return this.#transport.call("updateJobs", input, options) as ApiCall<UpdateResults>;
  }

  /**
   * Updates any number of jobs in batches of 100, one request at a time, and yields the result of each item in order. With
   * `idempotencyKey`, the key of a batch is that text, a hyphen and the batch's number from 1: the same items with the same key
   * change nothing twice within 24 hours.
   */
  updateMany(
    items: Iterable<BatchItem> | AsyncIterable<BatchItem>,
    options: UpdateOptions = {},
  ): AsyncGenerator<UpdateResult, void, void> {
    const ownKey = ownKeyOf(options);
    return updateInBatches(items, MAX_BATCH_SIZE, (batch, number) => {
      const idempotencyKey = ownKey === undefined ? undefined : `${ownKey}-${number}`;
      return this.updateBatch(batch, { ...options, idempotencyKey });
    });
  }

  /**
   * Moves up to 100 jobs to another day: they are then due on `due_date`, regardless of their present dates. A job that fails is in
   * `results`, and throws nothing.
   */
  reschedule(change: Reschedule, { dryRun, onError, ...options }: BatchOptions = {}): ApiCall<UpdateResults> {
    const input = { query: { dry_run: dryRun, on_error: onError }, body: change };
    return this.#transport.call("rescheduleJobs", input, options) as ApiCall<UpdateResults>;
  }

  /** Yields every change of the job, newest first. */
  listHistory(markingNumber: string, options?: RequestOptions): AsyncGenerator<HistoryEntry, void, void> {
    return itemsByPage((page) =>
      this.listHistoryPage(markingNumber, { page, page_size: MAX_PAGE_SIZE }, options),
    );
  }

  /** One page of the job's changes, newest first. */
  listHistoryPage(
    markingNumber: string,
    query: Operations["listJobHistory"]["query"] = {},
    options?: RequestOptions,
  ): ApiCall<Operations["listJobHistory"]["data"]> {
    return this.#transport.call("listJobHistory", { path: { markingNumber }, query }, options);
  }
}
