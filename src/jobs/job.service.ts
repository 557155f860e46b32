/** Lists, reads and updates jobs for partners. REST and GraphQL share it. */
import type { Database, Queryable, Transaction } from "../platform/postgres/database.ts";
import { AppError, badRequest, invariant, type Problem } from "../platform/errors.ts";
import type { ChangeContext, OrganizationPrincipal, Principal } from "../platform/principal.ts";
import {
  applyBulk,
  checkedItem,
  JOB_NOT_FOUND,
  markingNumberProblems,
  assertBulkSize,
  type BulkOptions,
  type BulkDeps,
  type BulkExecutor,
  type CheckedItem,
  type ItemResult,
} from "./update/bulk.ts";
import type { JobReferenceData } from "./job.reference-data.ts";
import { unknownStatusProblem, checkPatch, type CheckedPatch } from "./update/patch.ts";
import {
  findJob,
  listJobsAtOffset,
  type OffsetListQuery,
  type OffsetListPage,
} from "./list/offset-list.sql.ts";
import type { JobRowWithOwners, JobRow } from "./job.row.ts";
import { notifyChanges } from "./update/notify.ts";
import { updateRows, type JobUpdate, type UpdateOutcome } from "./update/update.sql.ts";
import { visibleTo } from "./job.visibility.ts";

export interface UpdateOptions extends ChangeContext {
  /** Validate and return the would-be result without changing anything. */
  dryRun: boolean;
  /** Run in this transaction and use no other connection. By default the change is a transaction of its own. */
  tx?: Transaction | undefined;
}

export interface UpdatedJob {
  job: JobRowWithOwners;
  ignored: string[];
  /** False if the job already had these values. In a dry run: whether the update would change the job. */
  changed: boolean;
}

export interface UpdateOneCommand {
  markingNumber: string;
  body: Readonly<Record<string, unknown>>;
  expectedVersions?: readonly number[] | undefined;
}

/** One unvalidated item of a batch. */
export interface BatchItem {
  markingNumber: string;
  body: Readonly<Record<string, unknown>>;
  /** The versions that the caller accepts; undefined accepts any. */
  expectedVersions?: readonly number[] | undefined;
}

export interface BatchOptions extends BulkOptions {
  /** The prefix of field names in the problems of the item at `index`. Default: `jobs[3].`. */
  pathOf?: (index: number) => string;
}

export interface JobService {
  list(principal: OrganizationPrincipal, query: OffsetListQuery): Promise<OffsetListPage>;
  /** The problems for which `list` would reject a status code. */
  statusProblems(code: string): Promise<Problem[]>;
  /** The problems for which `updateOne` would reject `body`. `path` is prepended to field names. */
  fieldProblems(
    body: Readonly<Record<string, unknown>>,
    options: { path?: string; tx: Transaction | undefined },
  ): Promise<Problem[]>;
  /** Throws NotFoundException if the job does not exist or is not visible to the principal. */
  get(principal: OrganizationPrincipal, markingNumber: string): Promise<JobRow>;
  /** Throws for invalid fields (400), a missing or invisible job (404) and an unexpected version (412). */
  updateOne(principal: Principal, command: UpdateOneCommand, options: UpdateOptions): Promise<UpdatedJob>;
  /**
   * Takes 1 to 100 items and returns one result per item; a failed item does not throw. Items with the same Marking
   * Number are applied in order.
   */
  updateBatch(
    principal: Principal,
    items: readonly BatchItem[],
    options: BatchOptions,
  ): Promise<{ results: ItemResult[]; ignored: string[] }>;
}

export interface JobServiceDeps extends BulkDeps {
  referenceData: JobReferenceData;
  /** Picks the database to list a principal's jobs from, such as a replica. Default: `database`. */
  readerFor?: (principal: Principal) => Queryable;
}

export function createJobService(deps: JobServiceDeps): JobService {
  const { database, referenceData, readerFor = () => database } = deps;
  const statusProblems = async (code: string): Promise<Problem[]> =>
    (await referenceData.isKnownStatus(code))
      ? []
      : [unknownStatusProblem(code, "query", "normalized_status")];
  return {
    statusProblems,
    async fieldProblems(body, { path, tx }) {
      const checked = await checkPatch(referenceDataIn(referenceData, tx), body, path);
      return checked.ok ? [] : checked.problems;
    },

    async list(principal, query) {
      const status = query.filter?.normalizedStatus;
      const problems = status === undefined ? [] : await statusProblems(status);
      if (problems.length > 0) throw badRequest(problems);
      return await listJobsAtOffset(readerFor(principal), principal, query);
    },

    async get(principal, markingNumber) {
      return (await findJob(database, principal, markingNumber)) ?? notFound();
    },

    async updateOne(principal, { markingNumber, body, expectedVersions }, options) {
      const problems = markingNumberProblems(markingNumber);
      const { dryRun, tx } = options;
      const checked = await checkPatch(referenceDataIn(referenceData, tx), body);
      if (problems.length > 0) throw badRequest(checked.ok ? problems : [...problems, ...checked.problems]);
      if (!checked.ok) throw badRequest(checked.problems, checked.message);
      const update = { markingNumber, patch: checked.patch, expectedVersions };
      const apply = (queryable: Queryable) => updateRows(queryable, principal, [update], options);
      const [outcome] = await (dryRun ? applyDryRun(database, apply, tx) : apply(tx ?? database));
      invariant(outcome, "an update has an outcome");
      if (!dryRun) notifyChanges(deps, [outcome], tx);
      return { job: jobOrThrow(outcome), ignored: checked.ignored, changed: outcome.kind === "updated" };
    },

    async updateBatch(principal, items, options) {
      assertBulkSize(items);
      const { pathOf = (index) => `jobs[${index}].`, tx } = options;
      const referenceDataInTx = referenceDataIn(referenceData, tx);
      const checks = await Promise.all(
        items.map(({ body }, index) =>
          checkPatch(referenceDataInTx, body, pathOf(index), ["marking_number"]),
        ),
      );
      const checked = items.map((item, index) => toCheckedUpdate(item, checks[index] as CheckedPatch));
      const apply = (queryable: Queryable) => (updates: readonly JobUpdate[]) =>
        updateRows(queryable, principal, updates, options);
      const executor: BulkExecutor<JobUpdate> = {
        inTransaction: apply,
        autocommit: apply(database),
        lockFilter: visibleTo(principal),
      };
      const results = await applyBulk(deps, checked, executor, options);
      return { results, ignored: [...new Set(checks.flatMap((check) => check.ignored))] };
    },
  };
}

function applyDryRun<T>(
  database: Database,
  apply: (tx: Transaction) => Promise<T>,
  tx: Transaction | undefined,
): Promise<T> {
  return tx ? tx.nested(() => apply(tx), "rollback") : database.transaction(apply, "rollback");
}

/** Queries codes on the connection of `tx`. If transactions held every connection, a query on the pool would hang. */
function referenceDataIn(
  referenceData: JobReferenceData,
  tx: Transaction | undefined,
): Pick<JobReferenceData, "isKnownStatus"> {
  return tx ? { isKnownStatus: (code) => referenceData.isKnownStatus(code, tx) } : referenceData;
}

function toCheckedUpdate(
  { markingNumber, expectedVersions }: BatchItem,
  check: CheckedPatch,
): CheckedItem<JobUpdate> {
  const problems = markingNumberProblems(markingNumber);
  if (problems.length > 0)
    return checkedItem({ markingNumber, patch: {} }, check.ok ? problems : [...problems, ...check.problems]);
  return check.ok
    ? checkedItem({ markingNumber, patch: check.patch, expectedVersions }, [])
    : checkedItem({ markingNumber, patch: {} }, check.problems, check.message);
}

function jobOrThrow(outcome: UpdateOutcome): JobRowWithOwners {
  if (outcome.kind === "not_found") return notFound();
  if (outcome.kind !== "version_mismatch") return outcome.job;
  const { version } = outcome.job;
  throw new AppError(
    "PreconditionFailedException",
    `The job is at version ${version}, which If-Match does not allow`,
    {
      details: { current_etag: `"${version}"` },
    },
  );
}

function notFound(): never {
  throw new AppError("NotFoundException", JOB_NOT_FOUND);
}
