/** Job operations for operators only: create jobs, assign them to contractors, set the provider status. */
import { LockMode } from "@mikro-orm/postgresql";
import { Organization } from "../organizations/api.ts";
import type { Database } from "../core/postgres/database.ts";
import type { Transaction } from "../core/postgres/transaction.ts";
import { type Problem, problemIn } from "../core/errors.ts";
import { isUuid } from "../core/ids.ts";
import type { ChangeContext, OperatorPrincipal, OrganizationType, Principal } from "../core/principal.ts";
import { applyBulk, type BulkOptions, type BulkOutcome, type ItemResult } from "./update/bulk.ts";
import { Job } from "./entity.ts";
import type { JobServiceDeps } from "./service.ts";
import { findJobsByMarkingNumber } from "./list/find.sql.ts";
import { bodyProblems, checkedItem, checkFields, type CheckedItem } from "./update/validate-patch.ts";
import { updateRows } from "./update/update-and-fan-out.sql.ts";
import { assignContractors, upsertRows, type Assignment, type JobUpsert } from "./update/upsert.sql.ts";
import { liveMarkingNumberValue, markingNumberValue, providerStatusValue } from "./values.ts";

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

/** Each method returns one result per item, in order. A failed item does not throw. The caller limits the number of items. */
export class OperatorJobService {
  readonly #deps: JobServiceDeps;

  constructor(deps: JobServiceDeps) {
    this.#deps = deps;
  }

  async createJobs(
    operator: OperatorPrincipal,
    jobs: readonly NewJob[],
    options: BulkOptions,
  ): Promise<ItemResult[]> {
    const ids = jobs.flatMap((job) => [job.agentId, job.contractorId]);
    const types = await readOrganizationTypes(this.#deps.database, ids);
    const checked = await Promise.all(jobs.map((job) => checkNewJob(this.#deps, job, types)));
    return await applyBulk(this.#deps, checked, options, {
      async apply(on, upserts) {
        const outcomes = await upsertRows(on, upserts, { ...options, onlyNew: true });
        const created = await findJobsByMarkingNumber(on, operator, numbersOf(upserts));
        return created.map((job, index) =>
          job && outcomes[index]?.kind === "created" ? { kind: "created", job } : { kind: "already_exists" },
        );
      },
      needsTransaction: true,
    });
  }

  async assignJobs(
    operator: OperatorPrincipal,
    assignments: readonly Assignment[],
    options: BulkOptions,
  ): Promise<ItemResult[]> {
    const ids = assignments.map((assignment) => assignment.contractorId);
    const types = await readOrganizationTypes(this.#deps.database, ids);
    const checked = assignments.map((assignment) =>
      checkedItem(assignment, [
        ...bodyProblems(markingNumberValue, assignment.markingNumber, "markingNumber"),
        ...contractorProblems(types, assignment.contractorId),
      ]),
    );
    return await assign(this.#deps, operator, checked, options);
  }

  async setProviderStatus(
    operator: OperatorPrincipal,
    changes: readonly ProviderStatusChange[],
    options: BulkOptions,
  ): Promise<ItemResult[]> {
    const checked = changes.map(({ markingNumber, providerStatus }) =>
      checkedItem({ markingNumber, patch: { provider_status: providerStatus } }, [
        ...bodyProblems(markingNumberValue, markingNumber, "markingNumber"),
        ...bodyProblems(providerStatusValue, providerStatus, "providerStatus"),
      ]),
    );
    return await applyBulk(this.#deps, checked, options, {
      apply: (on, updates) => updateRows(on, operator, updates, options),
      needsTransaction: false,
    });
  }
}

/** Assigns jobs that `principal` can see. The caller has checked the contractors. */
export function assign(
  deps: JobServiceDeps,
  principal: Principal,
  items: readonly CheckedItem<Assignment>[],
  options: BulkOptions,
): Promise<ItemResult[]> {
  return applyBulk(deps, items, options, {
    apply: (on, changes) => assignAndRead(on, changes, { ...options, principal }),
    needsTransaction: true,
  });
}

async function checkNewJob(
  { referenceData }: JobServiceDeps,
  { markingNumber, agentId, contractorId, fields, providerStatus }: NewJob,
  types: OrganizationTypes,
): Promise<CheckedItem<JobUpsert>> {
  const { patch, problems } = await checkFields(referenceData, fields, { path: "fields." });
  const upsert = {
    markingNumber,
    agentId,
    contractorId: contractorId ?? undefined,
    patch,
    providerStatus: providerStatus ?? undefined,
  };
  return checkedItem(upsert, [
    ...bodyProblems(liveMarkingNumberValue, markingNumber, "markingNumber"),
    ...agentProblems(types, agentId),
    ...contractorProblems(types, contractorId),
    ...problems,
    ...bodyProblems(providerStatusValue, providerStatus, "providerStatus"),
  ]);
}

async function assignAndRead(
  on: Database | Transaction,
  assignments: readonly Assignment[],
  { principal, ...context }: ChangeContext & { principal: Principal },
): Promise<BulkOutcome[]> {
  const markingNumbers = numbersOf(assignments);
  // Locks all of them, so that the jobs returned as unchanged cannot change before the commit.
  const visible = await on.em().find(
    Job,
    { marking_number: { $in: markingNumbers } },
    {
      fields: ["marking_number"],
      filters: { visibleTo: { principal } },
      orderBy: { id: "asc" },
      lockMode: LockMode.PESSIMISTIC_WRITE,
      disableIdentityMap: true,
    },
  );
  const locked = new Set(visible.map((job) => job.marking_number));
  const existing = assignments.filter(({ markingNumber }) => locked.has(markingNumber));
  const assigned = await assignContractors(on, existing, context);
  const jobs = await findJobsByMarkingNumber(on, principal, markingNumbers);
  return assignments.map(({ markingNumber }, index) => {
    const job = jobs[index];
    if (!job || !locked.has(markingNumber)) return { kind: "not_found" };
    const formerContractorId = assigned.get(markingNumber);
    return formerContractorId === undefined
      ? { kind: "unchanged", job }
      : { kind: "updated", job, formerContractorId };
  });
}

function numbersOf(items: readonly { markingNumber: string }[]): string[] {
  return items.map((item) => item.markingNumber);
}

type OrganizationTypes = ReadonlyMap<string, OrganizationType>;

/** Looks up the live organisations of `ids` in one statement. Ids that are null or not a UUID are skipped. */
async function readOrganizationTypes(
  database: Database,
  ids: readonly (string | null)[],
): Promise<OrganizationTypes> {
  const requested = [...new Set(ids)].filter((id) => id !== null && isUuid(id));
  const organizations =
    requested.length === 0
      ? []
      : await database.em().find(Organization, { id: { $in: requested }, liveOrganization: null });
  return new Map(organizations.map(({ id, type }) => [id, type]));
}

const inBody = problemIn("body");

function agentProblems(types: OrganizationTypes, id: string): Problem[] {
  if (types.get(id.toLowerCase()) === "agent") return [];
  return [inBody("agentId", "unknown_organization", "must be the id of an agent")];
}

function contractorProblems(types: OrganizationTypes, id: string | null): Problem[] {
  if (id === null || types.get(id.toLowerCase()) === "contractor") return [];
  return [inBody("contractorId", "unknown_organization", "must be the id of a contractor, or null")];
}
