/** Creates and deletes the jobs of test organisations. Live jobs are created by operators and never deleted. */
import { randomInt } from "node:crypto";
import type { Transaction } from "../core/postgres/transaction.ts";
import { unknownNames } from "../core/did-you-mean.ts";
import { AppError, badRequest, invariant, problemIn } from "../core/errors.ts";
import type { ChangeContext, OrganizationPrincipal, Principal } from "../core/principal.ts";
import { jobFieldNames } from "./fields.ts";
import type { JobRow } from "./row.sql.ts";
import type { JobServiceDeps } from "./service.ts";
import { TEST_PREFIX } from "./values.ts";
import { findJobsByMarkingNumber } from "./list/find.sql.ts";
import { assign } from "./operator.service.ts";
import { type ChangeListeners, notifyChanges } from "./update/bulk.ts";
import { deleteJobs } from "./update/delete.sql.ts";
import { type Assignment, upsertRows } from "./update/upsert.sql.ts";
import { checkedItem, checkFields } from "./update/validate-patch.ts";

export interface NewTestJobs {
  /** Distinct Marking Numbers, or the number of jobs with random ones. */
  numbers: number | readonly string[];
  /** Unvalidated editable fields of each job, by their REST names. Problems name them as `template.weight`. */
  template: Readonly<Record<string, unknown>>;
  /** Uuids of test organisations. */
  agentId: string;
  contractorId: string | null;
}

/**
 * Creates jobs. Throws BadRequestException with every problem of the template, and ConflictException if one of the Marking Numbers
 * exists; the caller rolls back.
 */
export async function createTestJobs(
  deps: JobServiceDeps,
  tx: Transaction,
  { numbers, template, agentId, contractorId }: NewTestJobs,
  { principal, ...context }: ChangeContext & { principal: Principal },
): Promise<JobRow[]> {
  const path = "template.";
  const { patch, problems, ignored } = await checkFields(deps.referenceData, template, { path, reader: tx });
  const unknown = unknownNames(ignored, jobFieldNames).map(({ name, nearest }) => {
    const advice = nearest === null ? "" : `; did you mean ${nearest}?`;
    return problemIn("body")(path + name, "unknown_member", `is not an editable field${advice}`);
  });
  if (problems.length + unknown.length > 0) throw badRequest([...problems, ...unknown]);
  const markingNumbers =
    typeof numbers === "number" ? Array.from({ length: numbers }, randomMarkingNumber) : numbers;
  const upserts = markingNumbers.map((markingNumber) => ({
    markingNumber,
    agentId,
    contractorId: contractorId ?? undefined,
    patch,
  }));
  const outcomes = await upsertRows(tx, upserts, { ...context, onlyNew: true });
  const existing = markingNumbers.filter((_, index) => outcomes[index]?.kind === "already_exists");
  if (existing.length > 0)
    throw new AppError(
      "ConflictException",
      `Jobs with these Marking Numbers exist, so none was created: ${existing.join(", ")}`,
    );
  notifyChanges(deps, outcomes, tx);
  const jobs = await findJobsByMarkingNumber(tx, principal, markingNumbers);
  return jobs.filter((job) => job !== null);
}

/** Assigns a job of `agent`, the test agent, as operators assign live jobs. Throws NotFoundException. */
export async function reassignTestJob(
  deps: JobServiceDeps,
  tx: Transaction,
  agent: OrganizationPrincipal,
  { requestId, ...assignment }: Assignment & Pick<ChangeContext, "requestId">,
) {
  const options = { actor: agent.actor, requestId, dryRun: false, tx };
  const [result] = await assign(deps, agent, [checkedItem(assignment, [])], options);
  invariant(result && result.outcome !== "not_applied", "one item has one result");
  if (result.outcome === "failed") throw new AppError(result.failure.code, result.failure.message);
  return result;
}

/** Deletes all jobs of the test organisations (UUIDs). Returns the number of jobs. */
export async function deleteTestJobs(
  { notifyWorkers, notifySubscribers }: ChangeListeners,
  tx: Transaction,
  organizations: { agent: string; contractor: string },
  context: ChangeContext,
): Promise<number> {
  const count = await deleteJobs(tx, organizations, context);
  tx.afterCommit(() => {
    notifyWorkers();
    notifySubscribers([organizations.agent, organizations.contractor]);
  });
  return count;
}

/** Without the letters I, L, O and U, which look like others. */
const LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const LENGTH = 12;

function randomMarkingNumber(): string {
  return TEST_PREFIX + Array.from({ length: LENGTH }, () => LETTERS[randomInt(LETTERS.length)]).join("");
}
