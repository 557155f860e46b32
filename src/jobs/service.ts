/** Lists, reads and updates jobs: the one service behind REST, GraphQL and CSV. */
import type { Database, Queryable } from "../core/postgres/database.ts";
import type { Transaction } from "../core/postgres/transaction.ts";
import { FairSemaphore } from "../core/concurrency/semaphore.ts";
import { AppError, invariant, type Problem, problemIn } from "../core/errors.ts";
import { partnerOf, type Principal } from "../core/principal.ts";
import { jobStats, type JobStats, type JobStatsQuery } from "./counters/stats.sql.ts";
import { jobsToday, type JobsToday } from "./counters/today.sql.ts";
import { reschedulePatch } from "./due.ts";
import type { JobReferenceData } from "./reference-data.ts";
import type { JobRow } from "./row.sql.ts";
import { findJob, findJobsByMarkingNumber } from "./list/find.sql.ts";
import { findListedNumbers } from "./list/search.sql.ts";
import { listJobs, type JobListPage, type JobListQuery } from "./list/list.sql.ts";
import {
  applyBulk,
  JOB_NOT_FOUND,
  type BulkOptions,
  type ChangeListeners,
  type ItemResult,
} from "./update/bulk.ts";
import {
  bodyProblems,
  checkedItem,
  checkFields,
  unknownStatus,
  type CheckedFields,
  type CheckedItem,
} from "./update/validate-patch.ts";
import { updateRows, type JobUpdate } from "./update/update-and-fan-out.sql.ts";
import { markingNumberValue } from "./values.ts";

export interface UpdateItem {
  markingNumber: string;
  body: Readonly<Record<string, unknown>>;
  /** The versions that the caller accepts; undefined accepts any. */
  expectedVersions?: readonly number[] | undefined;
  /** Those that the caller has found. */
  problems?: readonly Problem[];
}

export type RescheduleTarget = Pick<UpdateItem, "markingNumber" | "expectedVersions">;

export interface UpdateOptions extends Omit<BulkOptions, "errorPolicy"> {
  /** The prefix of field names in problems. Default: none. */
  path?: string;
}

export interface BatchOptions extends BulkOptions {
  /** The prefix of field names in the problems of the item at `index`. Default: `jobs[3].`. */
  pathOf?: (index: number) => string;
}

export interface JobServiceDeps extends ChangeListeners {
  database: Database;
  referenceData: JobReferenceData;
  /** The database to list a principal's jobs from by default, such as a replica. Default: `database`. */
  readerFor?: (principal: Principal) => Queryable;
}

/** Per process, so that statistics don't use up the PostgreSQL connections: one GraphQL operation may select 10 `jobStats`. */
const STATS_CONCURRENCY = { permits: 8, permitsPerKey: 4 };

/** `reader` is the database to read from, such as a pool whose statements can be cancelled. */
export class JobService {
  readonly #deps: JobServiceDeps;
  readonly #statsSemaphore = new FairSemaphore(STATS_CONCURRENCY);

  constructor(deps: JobServiceDeps) {
    this.#deps = deps;
  }

  list(principal: Principal, query: JobListQuery, reader = this.#readerFor(principal)): Promise<JobListPage> {
    return listJobs(reader, principal, query);
  }

  /** Which Marking Numbers that the search lists have a visible job; null if it is no list. */
  listedNumbers(principal: Principal, search: string, reader = this.#readerFor(principal)) {
    return findListedNumbers(reader, principal, search);
  }

  /** Throws NotFoundException if the job does not exist or is not visible to the principal. */
  async get(principal: Principal, markingNumber: string): Promise<JobRow> {
    const job = await findJob(this.#deps.database, principal, markingNumber);
    if (!job) throw new AppError("NotFoundException", JOB_NOT_FOUND);
    return job;
  }

  /** In the order of the numbers; null for what is not visible. One statement. */
  findByMarkingNumbers(
    principal: Principal,
    markingNumbers: readonly string[],
    reader: Queryable = this.#deps.database,
  ) {
    return findJobsByMarkingNumber(reader, principal, markingNumbers);
  }

  /** At most four queries of one partner run at a time, and eight in all: each may read all of its jobs. Others wait. */
  stats(principal: Principal, query: JobStatsQuery, reader = this.#readerFor(principal)): Promise<JobStats> {
    const forCounters = this.#readerFor(principal);
    return this.#statsSemaphore.run(fairnessKey(principal), () =>
      jobStats(reader, principal, query, forCounters),
    );
  }

  /** The jobs due today and the late jobs. Waits as `stats` does. */
  today(principal: Principal, reader = this.#readerFor(principal)): Promise<JobsToday> {
    return this.#statsSemaphore.run(fairnessKey(principal), () => jobsToday(reader, principal));
  }

  /** The problems with the query parameter `normalized_status`: its codes that are not known statuses. */
  async statusProblems(codes: readonly string[] = []): Promise<Problem[]> {
    const known = await Promise.all(codes.map((code) => this.#deps.referenceData.isKnownStatus(code)));
    const unknown = codes.filter((_code, index) => known[index] === false);
    return unknown.map((code) => problemIn("query")("normalized_status", ...unknownStatus(code)));
  }

  /** The problems for which `updateOne` would reject `body`. `path` is prepended to field names. */
  async fieldProblems(
    body: Readonly<Record<string, unknown>>,
    { path, tx }: { path?: string; tx: Transaction | undefined },
  ): Promise<Problem[]> {
    return (await checkFields(this.#deps.referenceData, body, { path, reader: tx })).problems;
  }

  /** Updates one job. Does not throw if the update fails. `ignored` has the keys of the body that cannot be edited. */
  async updateOne(
    principal: Principal,
    item: UpdateItem,
    { path = "", ...options }: UpdateOptions,
  ): Promise<{ result: ItemResult; ignored: string[] }> {
    const batch = await this.updateBatch(principal, [item], { ...options, pathOf: () => path });
    const [result] = batch.results;
    invariant(result, "one item has one result");
    return { result, ignored: batch.ignored };
  }

  /**
   * Returns one result per item; a failed item does not throw. Items with the same Marking Number are applied in order. The caller
   * limits the number of items.
   */
  async updateBatch(
    principal: Principal,
    items: readonly UpdateItem[],
    options: BatchOptions,
  ): Promise<{ results: ItemResult[]; ignored: string[] }> {
    const { pathOf = (index) => `jobs[${index}].`, tx } = options;
    const checks = await Promise.all(
      items.map(({ body }, index) =>
        checkFields(this.#deps.referenceData, body, { path: pathOf(index), reader: tx }),
      ),
    );
    const checked = items.map((item, index) => toCheckedUpdate(item, checks[index] as CheckedFields));
    const results = await applyBulk(this.#deps, checked, options, {
      apply: (on, updates) => updateRows(on, principal, updates, options),
      needsTransaction: false,
    });
    return { results, ignored: [...new Set(checks.flatMap((check) => check.ignored))] };
  }

  /** Makes the jobs due on a day, as a batch does. */
  async reschedule(
    principal: Principal,
    targets: readonly RescheduleTarget[],
    { dueDate, confirmed }: { dueDate: string; confirmed: boolean },
    options: BatchOptions,
  ): Promise<ItemResult[]> {
    const body = reschedulePatch(dueDate, confirmed);
    const items = targets.map((target) => ({ ...target, body }));
    return (await this.updateBatch(principal, items, options)).results;
  }

  #readerFor(principal: Principal): Queryable {
    const { database, readerFor } = this.#deps;
    return readerFor ? readerFor(principal) : database;
  }
}

function fairnessKey(principal: Principal): string {
  return partnerOf(principal) ?? principal.actor.id ?? "";
}

function toCheckedUpdate(
  { markingNumber, expectedVersions, problems: given = [] }: UpdateItem,
  { patch, problems, message }: CheckedFields,
): CheckedItem<JobUpdate> {
  const ownProblems = [...bodyProblems(markingNumberValue, markingNumber, "markingNumber"), ...given];
  const update = { markingNumber, patch, expectedVersions };
  return ownProblems.length > 0
    ? checkedItem(update, [...ownProblems, ...problems])
    : checkedItem(update, problems, message);
}
