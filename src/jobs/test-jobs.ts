/** Creates and deletes the jobs of test organisations. Live jobs are created by operators and never deleted. */
import { randomInt } from "node:crypto";
import type { Transaction } from "../core/postgres/transaction.ts";
import { badRequest } from "../core/errors.ts";
import type { ChangeContext, Principal } from "../core/principal.ts";
import type { JobRow } from "./row.sql.ts";
import type { JobServiceDeps } from "./service.ts";
import { TEST_PREFIX } from "./values.ts";
import { findJobsByMarkingNumber } from "./list/find.sql.ts";
import { type ChangeListeners, notifyChanges } from "./update/bulk.ts";
import { deleteJobs } from "./update/delete.sql.ts";
import { upsertRows } from "./update/upsert.sql.ts";
import { checkFields } from "./update/validate-patch.ts";

export interface NewTestJobs {
  count: number;
  /** Unvalidated editable fields of each job, by their REST names. Problems name them as `template.weight`. */
  template: Readonly<Record<string, unknown>>;
  /** Uuids of test organisations. */
  agentId: string;
  contractorId: string | null;
}

/** Creates jobs with random Marking Numbers. Throws BadRequestException with every problem of the template. */
export async function createTestJobs(
  deps: JobServiceDeps,
  tx: Transaction,
  { count, template, agentId, contractorId }: NewTestJobs,
  { principal, ...context }: ChangeContext & { principal: Principal },
): Promise<JobRow[]> {
  const { patch, problems } = await checkFields(deps.referenceData, template, {
    path: "template.",
    reader: tx,
  });
  if (problems.length > 0) throw badRequest(problems);
  const upserts = Array.from({ length: count }, () => ({
    markingNumber: `${TEST_PREFIX}${randomText()}`,
    agentId,
    contractorId: contractorId ?? undefined,
    patch,
  }));
  const outcomes = await upsertRows(tx, upserts, { ...context, onlyNew: true });
  notifyChanges(deps, outcomes, tx);
  const numbers = upserts.map(({ markingNumber }) => markingNumber);
  const jobs = await findJobsByMarkingNumber(tx, principal, numbers);
  return jobs.filter((job) => job !== null);
}

/** Deletes all jobs of the test organisations (UUIDs), or only the one with `markingNumber`. Returns the number of jobs. */
export async function deleteTestJobs(
  { notifyWorkers, notifySubscribers }: ChangeListeners,
  tx: Transaction,
  jobs: { agent: string; contractor: string; markingNumber?: string },
  context: ChangeContext,
): Promise<number> {
  const { agent, contractor, markingNumber } = jobs;
  const count = await deleteJobs(tx, { agentId: agent, markingNumber }, context);
  tx.afterCommit(() => {
    notifyWorkers();
    notifySubscribers([agent, contractor]);
  });
  return count;
}

/** Without the letters I, L, O and U, which look like others. */
const LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const LENGTH = 12;

function randomText(): string {
  return Array.from({ length: LENGTH }, () => LETTERS[randomInt(LETTERS.length)]).join("");
}
