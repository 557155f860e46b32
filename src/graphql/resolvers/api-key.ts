/** API keys, as far as the key that asks may manage them. */
import type { Asking } from "../../api-keys/api-key.asker.ts";
import type { IssuedKey } from "../../api-keys/api-key.issue.ts";
import { fromTypedId } from "../../platform/ids.ts";
import { AppError } from "../../platform/errors.ts";
import { allowed } from "../access.ts";
import type { GraphqlContext } from "../context.ts";
import { badArgument } from "../errors.ts";
import type { CreateApiKeyInput, MutationResolvers, QueryResolvers } from "../generated/schema-types.ts";
import { fromScopeName, toApiKeyNode } from "../nodes/api-key.node.ts";
import { orUserErrors } from "../user-errors.ts";

const BY_ID = { fields: "", subject: "id" };
const NOTHING = { apiKey: null, secret: null };

export const apiKeyQueries: Pick<QueryResolvers, "apiKeys"> = {
  async apiKeys(_root, _args, context) {
    const holder = allowed(context, "webhooks:manage");
    const keys = await context.services.keys.listFor(holder, context.database);
    return keys.map(toApiKeyNode);
  },
};

export const apiKeyMutations: Pick<MutationResolvers, "createApiKey" | "rotateApiKey" | "revokeApiKey"> = {
  createApiKey(_root, { input }, context) {
    const holder = asking(context);
    return orUserErrors({ fields: "input", subject: "input" }, NOTHING, async () =>
      issued(await context.services.keys.createFor(holder, requestOf(input))),
    );
  },

  rotateApiKey(_root, { id, graceHours }, context) {
    const holder = asking(context);
    return orUserErrors(BY_ID, NOTHING, async () =>
      issued(await context.services.keys.rotateFor(holder, uuidOf(id), graceHours)),
    );
  },

  revokeApiKey(_root, { id, withCreated }, context) {
    const holder = asking(context);
    return orUserErrors(BY_ID, { apiKey: null, alsoRevoked: null }, async () => {
      const { key, created } = await context.services.keys.revokeFor(holder, uuidOf(id), { withCreated });
      return { apiKey: toApiKeyNode(key), alsoRevoked: created.map(toApiKeyNode) };
    });
  },
};

/** Who asks, and from where, for the audit log. */
function asking(context: GraphqlContext): Asking {
  const { address, requestId } = context;
  return { ...allowed(context, "webhooks:manage"), address, requestId };
}

function issued({ key, text }: IssuedKey) {
  return { apiKey: toApiKeyNode(key), secret: text };
}

function requestOf({ name, scopes, expiresAt, cidrs, organizationId }: CreateApiKeyInput) {
  const isGiven = typeof organizationId === "string";
  const owner = isGiven ? fromTypedId("org", organizationId) : null;
  if (isGiven && owner === null) throw badArgument("organizationId", "is no organisation's id");
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
