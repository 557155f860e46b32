/** The job service: what partners can do with jobs, the same behind REST and GraphQL. */
import type { Database, Queryable, Transaction } from "../platform/database.ts";
import { AppError, badRequest, invariant, type ErrorCode, type Problem } from "../platform/errors.ts";
import type { ChangeContext, Principal } from "../platform/principal.ts";
import { unknownStatus, checkPatch } from "./job.patch.ts";
import type { JobCodes } from "./job.codes.ts";
import { findJob, listJobs, type JobListQuery, type JobPage } from "./job.queries.ts";
import { applyInRounds, type Refused } from "./job.rounds.ts";
import type { JobRow } from "./job.row.ts";
import { updateRows, type JobUpdate, type UpdateOutcome } from "./job.update.ts";
import { visibleTo } from "./job.visibility.ts";

const JOB_NOT_FOUND = "Delivery job not found";

export interface UpdateOptions extends ChangeContext {
  /** Validate and answer as if done, and change nothing. */
  dryRun: boolean;
}

export interface UpdateOneCommand {
  markingNumber: string;
  body: Readonly<Record<string, unknown>>;
  expectedVersions?: readonly number[] | undefined;
}

/** One item of a batch: its Marking Number is sound, the rest of it is not checked yet. */
export interface BatchItem {
  markingNumber: string;
  body: Readonly<Record<string, unknown>>;
}

export interface ItemFailure {
  code: ErrorCode;
  message: string;
  problems: readonly Problem[];
}

export type ItemResult = { markingNumber: string } & ({ job: JobRow } | { failure: ItemFailure });

export interface JobService {
  list(viewer: Principal, query: JobListQuery): Promise<JobPage>;
  /** Throws NotFoundException for a job that is not visible as for one that is not there. */
  get(viewer: Principal, markingNumber: string): Promise<JobRow>;
  /** Throws for wrong fields (400), no visible job (404) and another version than expected (412). */
  updateOne(
    viewer: Principal,
    command: UpdateOneCommand,
    options: UpdateOptions,
  ): Promise<{ job: JobRow; ignored: string[] }>;
  /** Each item stands alone: its failure is its result. The same Marking Number may stand twice, and is applied in order. */
  updateBatch(
    viewer: Principal,
    items: readonly BatchItem[],
    options: UpdateOptions,
  ): Promise<{ results: ItemResult[]; ignored: string[] }>;
}

export interface JobServiceParts {
  database: Database;
  codes: JobCodes;
  /** Called once a change is committed that webhooks are to be told of. */
  announce: () => void;
}

export function createJobService({ database, codes, announce }: JobServiceParts): JobService {
  const announceAny = (outcomes: readonly Applied[], { dryRun }: UpdateOptions): void => {
    if (!dryRun && outcomes.some((outcome) => outcome.kind === "updated" && outcome.announced)) announce();
  };

  return {
    async list(viewer, query) {
      const status = query.filter?.normalizedStatus;
      if (status !== undefined && !(await codes.isKnownStatus(status))) {
        throw badRequest([unknownStatus(status, "query", "normalized_status")]);
      }
      return await listJobs(database, viewer, query);
    },

    async get(viewer, markingNumber) {
      return (await findJob(database, viewer, markingNumber)) ?? notFound();
    },

    async updateOne(viewer, { markingNumber, body, expectedVersions }, options) {
      const checked = await checkPatch(codes, body);
      if (!checked.ok) throw badRequest(checked.problems, checked.message);
      const update = { markingNumber, patch: checked.patch, expectedVersions };
      const [outcome] = await inTransactionIfDry(database, options, (queryable) =>
        updateRows(queryable, viewer, [update], options),
      );
      invariant(outcome, "an update has an outcome");
      announceAny([outcome], options);
      return { job: jobOf(outcome), ignored: checked.ignored };
    },

    async updateBatch(viewer, items, options) {
      const checked = await Promise.all(
        items.map((item, at) => checkPatch(codes, item.body, `jobs[${at}].`, ["marking_number"])),
      );
      const sound = checked.flatMap((check, at) =>
        check.ok ? [{ at, markingNumber: (items[at] as BatchItem).markingNumber, patch: check.patch }] : [],
      );
      const outcomes = sound.length > 0 ? await applyAll(database, viewer, sound, options) : [];
      announceAny(outcomes, options);
      const applied = new Map(sound.map(({ at }, place) => [at, outcomes[place] as Applied]));
      const results = checked.map((check, at): ItemResult => {
        const { markingNumber } = items[at] as BatchItem;
        if (check.ok) return resultOf(markingNumber, applied.get(at) as Applied);
        const { message, problems } = check;
        return { markingNumber, failure: { code: "BadRequestException", message, problems } };
      });
      return { results, ignored: [...new Set(checked.flatMap((check) => check.ignored))] };
    },
  };
}

type Applied = UpdateOutcome | Refused;

function applyAll(
  database: Database,
  viewer: Principal,
  updates: readonly JobUpdate[],
  options: UpdateOptions,
): Promise<Applied[]> {
  return inTransactionIfDry(database, options, (queryable, tx) =>
    applyInRounds(updates, {
      apply: (round) => updateRows(queryable, viewer, round, options),
      tx,
      lockable: visibleTo(viewer),
    }),
  );
}

function inTransactionIfDry<T>(
  database: Database,
  { dryRun }: UpdateOptions,
  work: (queryable: Queryable, tx?: Transaction) => Promise<T>,
): Promise<T> {
  return dryRun ? database.transaction((tx) => work(tx, tx), "rollback") : work(database);
}

function jobOf(outcome: UpdateOutcome): JobRow {
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

const refusals = {
  not_found: { code: "NotFoundException", message: JOB_NOT_FOUND, problems: [] },
  version_mismatch: {
    code: "PreconditionFailedException",
    message: "The job is at another version",
    problems: [],
  },
  refused: {
    code: "InternalServerErrorException",
    message: "The database refused these values",
    problems: [],
  },
} as const satisfies Record<string, { code: ErrorCode; message: string; problems: readonly [] }>;

function resultOf(markingNumber: string, applied: Applied): ItemResult {
  if (applied.kind === "updated" || applied.kind === "unchanged") return { markingNumber, job: applied.job };
  return { markingNumber, failure: refusals[applied.kind] };
}

function notFound(): never {
  throw new AppError("NotFoundException", JOB_NOT_FOUND);
}
