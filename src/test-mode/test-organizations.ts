/** The two test organisations of a partner, and the lock for changes of their data. */
import type { EntityManager } from "@mikro-orm/postgresql";
import { Organization } from "../organizations/api.ts";
import { FairSemaphore } from "../core/concurrency/semaphore.ts";
import { AppError, invariant } from "../core/errors.ts";
import type { Database } from "../core/postgres/database.ts";
import type { Transaction } from "../core/postgres/transaction.ts";
import { tryLockForTransaction } from "../core/postgres/transaction-lock.ts";
import type { OrganizationPrincipal } from "../core/principal.ts";

export interface TestOrganizations {
  /** UUIDs. */
  agent: string;
  contractor: string;
  agentName: string;
  contractorName: string;
}

/** Makes the changes of this process wait here and not for the lock. */
const turns = new FairSemaphore({ permits: Infinity, permitsPerKey: 1 });

/**
 * Runs `work` in a transaction that holds the lock of the partner's test data, so that one request at a time counts, creates and
 * deletes it. Throws TooManyRequestsException if another process holds the lock: waiting for it would hold a connection.
 */
export async function changeTestData<T>(
  database: Database,
  { liveOrganizationId }: Pick<OrganizationPrincipal, "liveOrganizationId">,
  work: (em: EntityManager, tx: Transaction, organizations: TestOrganizations) => Promise<T>,
  joined?: Transaction,
): Promise<T> {
  invariant(liveOrganizationId, "the principal is of a test organisation");
  await turns.acquire(liveOrganizationId);
  try {
    return await database.transactionalIn(joined, async (em, tx) =>
      work(em, tx, await lockTestOrganizations(em, tx, liveOrganizationId)),
    );
  } finally {
    // PostgreSQL releases the lock at the end of the transaction.
    const endTurn = (): void => turns.release(liveOrganizationId);
    if (joined) joined.afterEnd(endTurn);
    else endTurn();
  }
}

/** Does not lock the organisations' rows, because a new API key needs a share of that lock while it blocks all other changes of keys. */
async function lockTestOrganizations(
  em: EntityManager,
  tx: Transaction,
  liveOrganizationId: string,
): Promise<TestOrganizations> {
  if (!(await tryLockForTransaction(tx, `test data of ${liveOrganizationId}`)))
    throw new AppError(
      "TooManyRequestsException",
      "Another request is changing your test data. Try again in 1 s.",
      { headers: { "Retry-After": "1" } },
    );
  const [agent, contractor] = await em.find(
    Organization,
    { liveOrganization: liveOrganizationId },
    { orderBy: { type: "asc" } },
  );
  invariant(agent && contractor, "test organisations are created in pairs");
  return {
    agent: agent.id,
    contractor: contractor.id,
    agentName: agent.name,
    contractorName: contractor.name,
  };
}
