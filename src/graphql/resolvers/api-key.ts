/** API keys, as far as the key that asks may manage them. */
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
    const holder = authorize(context, "webhooks:manage");
    const keys = await context.services.keys.listFor(holder, context.database);
    return keys.map(toApiKeyNode);
  },
};

export const apiKeyMutations: Pick<MutationResolvers, "createApiKey" | "rotateApiKey" | "revokeApiKey"> = {
  createApiKey(_root, { input }, context) {
    const holder = grantorOf(context);
    return withUserErrors({ fields: "input", subject: "input" }, NO_KEY, async () =>
      toIssuedKeyPayload(await context.services.keys.createFor(holder, toKeyRequest(input))),
    );
  },

  rotateApiKey(_root, { id, graceHours }, context) {
    const holder = grantorOf(context);
    return withUserErrors(BY_ID, NO_KEY, async () =>
      toIssuedKeyPayload(await context.services.keys.rotateFor(holder, uuidOf(id), graceHours)),
    );
  },

  revokeApiKey(_root, { id, includeCreatedKeys }, context) {
    const holder = grantorOf(context);
    return withUserErrors(BY_ID, { apiKey: null, alsoRevoked: null }, async () => {
      const { key, created } = await context.services.keys.revokeFor(holder, uuidOf(id), {
        includeCreatedKeys,
      });
      return { apiKey: toApiKeyNode(key), alsoRevoked: created.map(toApiKeyNode) };
    });
  },
};

/** Who asks, and from where, for the audit log. */
function grantorOf(context: GraphqlContext): GrantorPrincipal {
  const { address, requestId } = context;
  return { ...authorize(context, "webhooks:manage"), address, requestId };
}

function toIssuedKeyPayload({ key, text }: IssuedKey) {
  return { apiKey: toApiKeyNode(key), secret: text };
}

function toKeyRequest({ name, scopes, expiresAt, cidrs, organizationId }: CreateApiKeyInput) {
  const isGiven = typeof organizationId === "string";
  const owner = isGiven ? fromTypedId("org", organizationId) : null;
  if (isGiven && owner === null) throw invalidArgument("organizationId", "is no organisation's id");
  return {
    name,
    scopes: scopes?.map(fromScopeName) ?? null,
    expiresAt: expiresAt ?? null,
    cidrs: cidrs ?? null,
    organizationId: owner,
  };
}

/** A text that is no id of a key is one of a key that is not there. */
function uuidOf(id: string): string {
  const uuid = fromTypedId("key", id);
  if (uuid === null) throw new AppError("NotFoundException", "There is no such key");
  return uuid;
}
