/** Mutations that suspend and restore organisations. */
import { auditContext, requireOperator } from "../authorize.ts";
import type { MutationResolvers } from "../generated/schema-types.ts";
import { toOrganizationNode } from "../nodes/organization.node.ts";
import { withUserErrors } from "../user-errors.ts";

const BY_ID = { fields: "", subject: "id" };

export const suspensionMutations: Pick<MutationResolvers, "suspendOrganization" | "restoreOrganization"> = {
  suspendOrganization(_root, { id, reason }, context) {
    const audit = auditContext(context, requireOperator(context, "webhooks:manage"));
    return withUserErrors(BY_ID, { organization: null }, async () => ({
      organization: toOrganizationNode(await context.services.suspensions.suspend(audit, id, reason)),
    }));
  },

  restoreOrganization(_root, { id }, context) {
    const audit = auditContext(context, requireOperator(context, "webhooks:manage"));
    return withUserErrors(BY_ID, { organization: null }, async () => ({
      organization: toOrganizationNode(await context.services.suspensions.restore(audit, id)),
    }));
  },
};
