/** Creates and deletes the jobs of test organisations. Live jobs are created by operators and never deleted. */
import { randomInt } from "node:crypto";
import { LockMode } from "@mikro-orm/postgresql";
import type { Transaction } from "../core/postgres/transaction.ts";
import { badRequest } from "../core/errors.ts";
import type { ChangeContext, Principal } from "../core/principal.ts";
import { JobCounter, JobCounterDelta } from "./counters/entity.ts";
import { Job } from "./entity.ts";
import type { JobRow } from "./row.sql.ts";
import type { JobServiceDeps } from "./service.ts";
import { TEST_PREFIX } from "./values.ts";
import { findJobsByMarkingNumber } from "./list/find.sql.ts";
import { notifyChanges } from "./update/bulk.ts";
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

/** Deletes the jobs of a test agent and the counters of `organizationIds`. Returns the number of jobs. */
export async function deleteTestJobs(
  tx: Transaction,
  agentId: string,
  organizationIds: readonly string[],
): Promise<number> {
  const em = tx.em();
  // Jobs first: their locks wait for changes in flight, whose counts the next statements then see. In id order, as updates do.
  await em.find(
    Job,
    { agent_id: agentId },
    { fields: ["id"], orderBy: { id: "asc" }, lockMode: LockMode.PESSIMISTIC_WRITE },
  );
  const jobs = await em.nativeDelete(Job, { agent_id: agentId });
  const counters = { organizationId: { $in: [...organizationIds] } };
  await em.nativeDelete(JobCounterDelta, counters);
  await em.nativeDelete(JobCounter, counters);
  return jobs;
}

/** Without the letters I, L, O and U, which look like others. */
const LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const LENGTH = 12;

function randomText(): string {
  return Array.from({ length: LENGTH }, () => LETTERS[randomInt(LETTERS.length)]).join("");
}
