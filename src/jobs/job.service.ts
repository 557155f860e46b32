/** The job service: what partners can do with jobs, the same behind REST and GraphQL. */
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
  /** Validate and answer as if done, and change nothing. */
  dryRun: boolean;
  /** Change the job in this transaction, with no other connection; by default the change is its own transaction. */
  tx?: Transaction | undefined;
}

export interface UpdatedJob {
  job: JobRowWithOwners;
  ignored: string[];
  /** False: the job had these values already. True in a dry run if the update would change the job. */
  changed: boolean;
}

export interface UpdateOneCommand {
  markingNumber: string;
  body: Readonly<Record<string, unknown>>;
  expectedVersions?: readonly number[] | undefined;
}

/** One item of a batch, not checked yet. */
export interface BatchItem {
  markingNumber: string;
  body: Readonly<Record<string, unknown>>;
  /** The versions that the caller allows; undefined: any. */
  expectedVersions?: readonly number[] | undefined;
}

export interface BatchOptions extends BulkOptions {
  /** What stands before a field's name in a problem of the item at this place; `jobs[3].` unless said. */
  pathOf?: (at: number) => string;
}

export interface JobService {
  list(viewer: OrganizationPrincipal, query: OffsetListQuery): Promise<OffsetListPage>;
  /** The problems for which `list` would reject a status code. */
  statusProblems(code: string): Promise<Problem[]>;
  /** What `updateOne` would refuse the fields of `body` for; `path` precedes their names. */
  fieldProblems(
    body: Readonly<Record<string, unknown>>,
    options: { path?: string; tx: Transaction | undefined },
  ): Promise<Problem[]>;
  /** Throws NotFoundException for a job that is not visible as for one that is not there. */
  get(viewer: OrganizationPrincipal, markingNumber: string): Promise<JobRow>;
  /** Throws for wrong fields (400), no visible job (404) and another version than expected (412). */
  updateOne(viewer: Principal, command: UpdateOneCommand, options: UpdateOptions): Promise<UpdatedJob>;
  /** 1 to 100 items; an item's failure is its result. The same Marking Number may stand twice, and is applied in order. */
  updateBatch(
    viewer: Principal,
    items: readonly BatchItem[],
    options: BatchOptions,
  ): Promise<{ results: ItemResult[]; ignored: string[] }>;
}

export interface JobServiceDeps extends BulkDeps {
  referenceData: JobReferenceData;
  /** Where the lists of somebody are read; `database` unless given. */
  readerFor?: (viewer: Principal) => Queryable;
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

    async get(viewer, markingNumber) {
      return (await findJob(database, viewer, markingNumber)) ?? notFound();
    },

    async updateOne(viewer, { markingNumber, body, expectedVersions }, options) {
      const problems = markingNumberProblems(markingNumber);
      const { dryRun, tx } = options;
      const checked = await checkPatch(referenceDataIn(referenceData, tx), body);
      if (problems.length > 0) throw badRequest(checked.ok ? problems : [...problems, ...checked.problems]);
      if (!checked.ok) throw badRequest(checked.problems, checked.message);
      const update = { markingNumber, patch: checked.patch, expectedVersions };
      const apply = (queryable: Queryable) => updateRows(queryable, viewer, [update], options);
      const [outcome] = await (dryRun ? applyDryRun(database, apply, tx) : apply(tx ?? database));
      invariant(outcome, "an update has an outcome");
      if (!dryRun) notifyChanges(deps, [outcome], tx);
      return { job: jobOrThrow(outcome), ignored: checked.ignored, changed: outcome.kind === "updated" };
    },

    async updateBatch(viewer, items, options) {
      assertBulkSize(items);
      const { pathOf = (index) => `jobs[${index}].`, tx } = options;
      const referenceDataInTx = referenceDataIn(referenceData, tx);
      const checks = await Promise.all(
        items.map(({ body }, at) => checkPatch(referenceDataInTx, body, pathOf(at), ["marking_number"])),
      );
      const checked = items.map((item, at) => toCheckedUpdate(item, checks[at] as CheckedPatch));
      const apply = (queryable: Queryable) => (updates: readonly JobUpdate[]) =>
        updateRows(queryable, viewer, updates, options);
      const executor = { inTransaction: apply, autocommit: apply(database), lockFilter: visibleTo(viewer) };
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

/** `codes`, looked up in `tx`: with all connections in transactions, a look-up on the pool would wait for ever. */
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
    `The job is at version ${version}, another than If-Match allows`,
    {
      details: { current_etag: `"${version}"` },
    },
  );
}

function notFound(): never {
  throw new AppError("NotFoundException", JOB_NOT_FOUND);
}
