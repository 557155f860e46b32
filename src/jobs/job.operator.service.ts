/** Job operations for operators only: create jobs, assign them to contractors, set the provider status. */
import type { Queryable } from "../platform/postgres/database.ts";
import type { Problem } from "../platform/errors.ts";
import type { OperatorPrincipal } from "../platform/principal.ts";
import { toProblems } from "../platform/zod-problems.ts";
import { sql } from "../platform/postgres/sql.ts";
import {
  applyBulk,
  checkedItem,
  markingNumberProblems,
  assertBulkSize,
  type BulkOptions,
  type BulkDeps,
  type BulkExecutor,
  type CheckedItem,
  type ItemResult,
} from "./update/bulk.ts";
import type { JobReferenceData } from "./job.reference-data.ts";
import type { JobPatch } from "./job.fields.ts";
import { assignJobs, createJobs } from "./update/operator-writes.ts";
import { checkOrganizations, type OrganizationCheck } from "./update/organization-check.ts";
import { checkPatch } from "./update/patch.ts";
import { updateRows, type JobUpdate } from "./update/update.sql.ts";
import type { Assignment, JobUpsert } from "./update/upsert.sql.ts";
import { providerStatusValue } from "./job.values.ts";

/** A job to create. Organisation ids are UUIDs. */
export interface NewJob {
  markingNumber: string;
  agentId: string;
  contractorId: string | null;
  /** Unvalidated editable fields by their REST names. Problems name them as `fields.weight`. */
  fields: Readonly<Record<string, unknown>>;
  providerStatus: string | null;
}

export interface ProviderStatusChange {
  markingNumber: string;
  providerStatus: string | null;
}

/** Each method takes 1 to 100 items and returns one result per item, in order. A failed item does not throw. */
export interface OperatorJobService {
  createJobs(
    operator: OperatorPrincipal,
    jobs: readonly NewJob[],
    options: BulkOptions,
  ): Promise<ItemResult[]>;
  assignJobs(
    operator: OperatorPrincipal,
    assignments: readonly Assignment[],
    options: BulkOptions,
  ): Promise<ItemResult[]>;
  setProviderStatus(
    operator: OperatorPrincipal,
    changes: readonly ProviderStatusChange[],
    options: BulkOptions,
  ): Promise<ItemResult[]>;
}

export interface OperatorJobDeps extends BulkDeps {
  referenceData: JobReferenceData;
}

export function createOperatorJobService(deps: OperatorJobDeps): OperatorJobService {
  const { database, referenceData } = deps;
  return {
    async createJobs(_operator, jobs, options) {
      assertBulkSize(jobs);
      const organizations = await checkOrganizations(
        database,
        jobs.flatMap((job) => [job.agentId, job.contractorId]),
      );
      const checked = await Promise.all(
        jobs.map((job) => checkNewJob(job, { referenceData, organizations })),
      );
      const executor: BulkExecutor<JobUpsert> = {
        inTransaction: (tx) => (upserts) => createJobs(tx, upserts, options),
        // Existing jobs are not changed, so they need no lock.
        lockFilter: sql`false`,
      };
      return await applyBulk(deps, checked, executor, options);
    },

    async assignJobs(_operator, assignments, options) {
      assertBulkSize(assignments);
      const organizations = await checkOrganizations(
        database,
        assignments.map((assignment) => assignment.contractorId),
      );
      const checked = assignments.map(({ markingNumber, contractorId }) => {
        const problems = [
          ...markingNumberProblems(markingNumber),
          ...organizations.contractorProblems(contractorId),
        ];
        return checkedItem({ markingNumber, contractorId }, problems);
      });
      const executor: BulkExecutor<Assignment> = {
        inTransaction: (tx) => (changes) => assignJobs(tx, changes, options),
        lockFilter: sql`true`,
      };
      return await applyBulk(deps, checked, executor, options);
    },

    async setProviderStatus(operator, changes, options) {
      assertBulkSize(changes);
      const checked = changes.map(({ markingNumber, providerStatus }) =>
        checkedItem({ markingNumber, patch: { provider_status: providerStatus } }, [
          ...markingNumberProblems(markingNumber),
          ...providerStatusProblems(providerStatus),
        ]),
      );
      const apply = (queryable: Queryable) => (updates: readonly JobUpdate[]) =>
        updateRows(queryable, operator, updates, options);
      const executor: BulkExecutor<JobUpdate> = {
        inTransaction: apply,
        autocommit: apply(database),
        lockFilter: sql`true`,
      };
      return await applyBulk(deps, checked, executor, options);
    },
  };
}

async function checkNewJob(
  { markingNumber, agentId, contractorId, fields, providerStatus }: NewJob,
  { referenceData, organizations }: { referenceData: JobReferenceData; organizations: OrganizationCheck },
): Promise<CheckedItem<JobUpsert>> {
  const { patch, problems } = await checkFields(referenceData, fields);
  const upsert = {
    markingNumber,
    agentId,
    contractorId: contractorId ?? undefined,
    patch,
    providerStatus: providerStatus ?? undefined,
  };
  return checkedItem(upsert, [
    ...markingNumberProblems(markingNumber),
    ...organizations.agentProblems(agentId),
    ...organizations.contractorProblems(contractorId),
    ...problems,
    ...providerStatusProblems(providerStatus),
  ]);
}

/** Like `checkPatch`, but accepts an empty set of fields. */
async function checkFields(
  referenceData: JobReferenceData,
  fields: NewJob["fields"],
): Promise<{ patch: JobPatch; problems: Problem[] }> {
  if (Object.keys(fields).length === 0) return { patch: {}, problems: [] };
  const checked = await checkPatch(referenceData, fields, "fields.");
  return checked.ok ? { patch: checked.patch, problems: [] } : { patch: {}, problems: checked.problems };
}

function providerStatusProblems(providerStatus: string | null): Problem[] {
  const result = providerStatusValue.safeParse(providerStatus);
  return result.success ? [] : toProblems(result.error, "body", "providerStatus");
}
