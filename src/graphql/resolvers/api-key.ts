/** Lists and changes the API keys that the principal may manage. */
import type { GrantorPrincipal, IssuedKey } from "../../api-keys/api.ts";
import { fromTypedId } from "../../platform/ids.ts";
import { AppError } from "../../platform/errors.ts";
import { authorize } from "../authorize.ts";
import type { GraphqlContext } from "../context.ts";
import { invalidArgument } from "../invalid-argument.ts";
import type { CreateApiKeyInput, MutationResolvers, QueryResolvers } from "../generated/schema-types.ts";
import { fromScopeName, toApiKeyNode } from "../nodes/api-key.node.ts";
import { withUserErrors } from "../user-errors.ts";

const BY_ID = { fields: "", subject: "id" };
const NO_KEY = { apiKey: null, secret: null };

export const apiKeyQueries: Pick<QueryResolvers, "apiKeys"> = {
  async apiKeys(_root, _args, context) {
    const principal = authorize(context, "webhooks:manage");
    const keys = await context.services.keys.listFor(principal, context.database);
    return keys.map(toApiKeyNode);
  },
};

export const apiKeyMutations: Pick<MutationResolvers, "createApiKey" | "rotateApiKey" | "revokeApiKey"> = {
  createApiKey(_root, { input }, context) {
    const principal = grantorOf(context);
    return withUserErrors({ fields: "input", subject: "input" }, NO_KEY, async () =>
      toIssuedKeyPayload(await context.services.keys.createFor(principal, toKeyRequest(input))),
    );
  },

  rotateApiKey(_root, { id, graceHours }, context) {
    const principal = grantorOf(context);
    return withUserErrors(BY_ID, NO_KEY, async () =>
      toIssuedKeyPayload(await context.services.keys.rotateFor(principal, uuidOf(id), graceHours)),
    );
  },

  revokeApiKey(_root, { id, includeCreatedKeys }, context) {
    const principal = grantorOf(context);
    return withUserErrors(BY_ID, { apiKey: null, alsoRevoked: null }, async () => {
      const { key, created } = await context.services.keys.revokeFor(principal, uuidOf(id), {
        includeCreatedKeys,
      });
      return { apiKey: toApiKeyNode(key), alsoRevoked: created.map(toApiKeyNode) };
    });
  },
};

/** Returns the principal with the request data for the audit log. */
function grantorOf(context: GraphqlContext): GrantorPrincipal {
  const { address, requestId } = context;
  return { ...authorize(context, "webhooks:manage"), address, requestId };
}

function toIssuedKeyPayload({ key, text }: IssuedKey) {
  return { apiKey: toApiKeyNode(key), secret: text };
}

function toKeyRequest({ name, scopes, expiresAt, cidrs, organizationId }: CreateApiKeyInput) {
  const hasOrganization = typeof organizationId === "string";
  const owner = hasOrganization ? fromTypedId("org", organizationId) : null;
  if (hasOrganization && owner === null)
    throw invalidArgument("organizationId", "must be an organisation ID");
  return {
    name,
    scopes: scopes?.map(fromScopeName) ?? null,
    expiresAt: expiresAt ?? null,
    cidrs: cidrs ?? null,
    organizationId: owner,
  };
}

/** Throws NotFoundException for malformed IDs too. */
function uuidOf(id: string): string {
  const uuid = fromTypedId("key", id);
  if (uuid === null) throw new AppError("NotFoundException", "There is no such key");
  return uuid;
}
