/** What operators alone do with jobs: make them, give them to contractors, set the carrier's status. */
import type { Queryable } from "../platform/database.ts";
import type { Problem } from "../platform/errors.ts";
import type { Operator } from "../platform/principal.ts";
import { problemsOf } from "../platform/problems.ts";
import { sql } from "../platform/sql.ts";
import {
  applyBulk,
  checkedItem,
  markingNumberProblems,
  requireBulkSize,
  type BulkOptions,
  type BulkParts,
  type BulkWork,
  type CheckedItem,
  type ItemResult,
} from "./job.bulk.ts";
import type { JobCodes } from "./job.codes.ts";
import type { JobPatch } from "./job.fields.ts";
import { assignExisting, createRows } from "./job.operations.rows.ts";
import { findOrganizations, type FoundOrganizations } from "./job.organizations.ts";
import { checkPatch } from "./job.patch.ts";
import { updateRows, type JobUpdate } from "./job.update.ts";
import type { Assignment, JobUpsert } from "./job.upsert.ts";
import { providerStatusValue } from "./job.values.ts";

/** A job to be made. Organisations are uuids. */
export interface NewJob {
  markingNumber: string;
  agentId: string;
  contractorId: string | null;
  /** Editable fields by their names in REST, not checked yet; a problem of one says `fields.weight`. */
  fields: Readonly<Record<string, unknown>>;
  providerStatus: string | null;
}

export interface ProviderStatusChange {
  markingNumber: string;
  providerStatus: string | null;
}

/** Each takes 1 to 100 items; an item's failure is its result, and its problems name the item's own members. */
export interface JobOperations {
  createJobs(operator: Operator, jobs: readonly NewJob[], options: BulkOptions): Promise<ItemResult[]>;
  assignJobs(
    operator: Operator,
    assignments: readonly Assignment[],
    options: BulkOptions,
  ): Promise<ItemResult[]>;
  setProviderStatus(
    operator: Operator,
    changes: readonly ProviderStatusChange[],
    options: BulkOptions,
  ): Promise<ItemResult[]>;
}

export interface OperationParts extends BulkParts {
  codes: JobCodes;
}

export function createJobOperations(parts: OperationParts): JobOperations {
  const { database, codes } = parts;
  return {
    async createJobs(_operator, jobs, options) {
      requireBulkSize(jobs);
      const found = await findOrganizations(
        database,
        jobs.flatMap((job) => [job.agentId, job.contractorId]),
      );
      const checked = await Promise.all(jobs.map((job) => checkNewJob(job, { codes, found })));
      const work: BulkWork<JobUpsert> = {
        applyIn: (tx) => (upserts) => createRows(tx, upserts, options),
        // A job that is there already is left alone.
        lockable: sql`false`,
      };
      return await applyBulk(parts, checked, work, options);
    },

    async assignJobs(_operator, assignments, options) {
      requireBulkSize(assignments);
      const found = await findOrganizations(
        database,
        assignments.map((assignment) => assignment.contractorId),
      );
      const checked = assignments.map(({ markingNumber, contractorId }) => {
        const problems = [...markingNumberProblems(markingNumber), ...found.contractorProblems(contractorId)];
        return checkedItem({ markingNumber, contractorId }, problems);
      });
      const work: BulkWork<Assignment> = {
        applyIn: (tx) => (changes) => assignExisting(tx, changes, options),
        lockable: sql`true`,
      };
      return await applyBulk(parts, checked, work, options);
    },

    async setProviderStatus(operator, changes, options) {
      requireBulkSize(changes);
      const checked = changes.map(({ markingNumber, providerStatus }) =>
        checkedItem({ markingNumber, patch: { provider_status: providerStatus } }, [
          ...markingNumberProblems(markingNumber),
          ...providerStatusProblems(providerStatus),
        ]),
      );
      const apply = (queryable: Queryable) => (updates: readonly JobUpdate[]) =>
        updateRows(queryable, operator, updates, options);
      const work = { applyIn: apply, alone: apply(database), lockable: sql`true` };
      return await applyBulk(parts, checked, work, options);
    },
  };
}

async function checkNewJob(
  { markingNumber, agentId, contractorId, fields, providerStatus }: NewJob,
  { codes, found }: { codes: JobCodes; found: FoundOrganizations },
): Promise<CheckedItem<JobUpsert>> {
  const { patch, problems } = await checkFields(codes, fields);
  const upsert = {
    markingNumber,
    agentId,
    contractorId: contractorId ?? undefined,
    patch,
    providerStatus: providerStatus ?? undefined,
  };
  return checkedItem(upsert, [
    ...markingNumberProblems(markingNumber),
    ...found.agentProblems(agentId),
    ...found.contractorProblems(contractorId),
    ...problems,
    ...providerStatusProblems(providerStatus),
  ]);
}

/** Here no field at all is well, too. */
async function checkFields(
  codes: JobCodes,
  fields: NewJob["fields"],
): Promise<{ patch: JobPatch; problems: Problem[] }> {
  if (Object.keys(fields).length === 0) return { patch: {}, problems: [] };
  const checked = await checkPatch(codes, fields, "fields.");
  return checked.ok ? { patch: checked.patch, problems: [] } : { patch: {}, problems: checked.problems };
}

function providerStatusProblems(providerStatus: string | null): Problem[] {
  const result = providerStatusValue.safeParse(providerStatus);
  return result.success ? [] : problemsOf(result.error, "body", "providerStatus");
}
