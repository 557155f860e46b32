/** The two test organisations of a partner, and the lock for changes of their data. */
import { Organization } from "../organizations/api.ts";
import { invariant } from "../platform/errors.ts";
import type { Transaction } from "../platform/postgres/transaction.ts";
import { lockForTransaction } from "../platform/postgres/transaction-lock.ts";
import type { OrganizationPrincipal } from "../platform/principal.ts";

export interface TestOrganizations {
  /** UUIDs. */
  agent: string;
  contractor: string;
}

/**
 * Holds the lock of the partner's test data until `tx` ends, so that one request at a time counts, creates and deletes it. Does
 * not lock the organisations' rows, because a new API key needs a share of that lock while it blocks all other changes of keys.
 */
export async function lockTestOrganizations(
  tx: Transaction,
  { liveOrganizationId }: Pick<OrganizationPrincipal, "liveOrganizationId">,
): Promise<TestOrganizations> {
  invariant(liveOrganizationId, "the principal is of a test organisation");
  await lockForTransaction(tx, `test data of ${liveOrganizationId}`);
  const organizations = await tx
    .em()
    .find(Organization, { liveOrganization: liveOrganizationId }, { orderBy: { type: "asc" } });
  const [agent, contractor] = organizations;
  invariant(agent && contractor, "test organisations are created in pairs");
  return { agent: agent.id, contractor: contractor.id };
}
