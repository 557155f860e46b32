/** The number of endpoints that an organisation can have. */
import type { EntityManager } from "@mikro-orm/postgresql";
import { modeOf, Organization, type OrganizationMode } from "../../organizations/api.ts";
import { AppError } from "../../core/errors.ts";
import type { Transaction } from "../../core/postgres/transaction.ts";
import { lockForTransaction } from "../../core/postgres/transaction-lock.ts";
import type { EndpointOwner } from "../webhook-principal.ts";
import { WebhookEndpoint } from "./entity.ts";
import { forPrincipal } from "./find.ts";

/** Per organisation. A run of test jobs sends each step to every test endpoint. */
export const MAX_ENDPOINTS = { live: 50, test: 5 } as const satisfies Record<OrganizationMode, number>;

/**
 * Returns the owner's organisation. Throws ConflictException if it has the maximum number of endpoints; until `tx` ends, no other
 * transaction can create one.
 */
export async function admitEndpoint(
  em: EntityManager,
  tx: Transaction,
  owner: EndpointOwner,
): Promise<Organization> {
  const { organizationId } = owner;
  await lockForTransaction(tx, `webhook endpoints of ${organizationId}`);
  const organization = await em.findOneOrFail(Organization, organizationId);
  const mode = modeOf(organization);
  const limit = MAX_ENDPOINTS[mode];
  if ((await forPrincipal(em, owner).count(WebhookEndpoint)) < limit) return organization;
  const subject = mode === "test" ? "A test organisation" : "An organisation";
  throw new AppError(
    "ConflictException",
    `${subject} can have at most ${limit} webhook endpoints. Delete one that you no longer need.`,
    { details: { limit } },
  );
}
