/** Lists and changes the API keys that the principal may manage. */
import type { IssuedKey } from "../../api-keys/api.ts";
import { fromTypedId } from "../../platform/ids.ts";
import { AppError } from "../../platform/errors.ts";
import { requireManager } from "../authorize.ts";
import { organizationUuid } from "../arguments.ts";
import type { CreateApiKeyInput, MutationResolvers, QueryResolvers } from "../generated/schema-types.ts";
import { toApiKeyNode } from "../nodes/api-key.node.ts";
import { BY_ID, mutation } from "../mutation.ts";

export const apiKeyQueries: QueryResolvers = {
  async apiKeys(_root, _args, context) {
    const keys = await context.services.keys.listFor(requireManager(context), context.database);
    return keys.map(toApiKeyNode);
  },
};

export const apiKeyMutations: MutationResolvers = {
  createApiKey: mutation(
    requireManager,
    { fields: "input", subject: "input" },
    async (caller, { input }, { services }) =>
      toIssuedKeyPayload(await services.keys.createFor(caller, toKeyRequest(input))),
  ),

  rotateApiKey: mutation(requireManager, BY_ID, async (caller, { id, graceHours }, { services }) =>
    toIssuedKeyPayload(await services.keys.rotateFor(caller, uuidOf(id), graceHours)),
  ),

  revokeApiKey: mutation(requireManager, BY_ID, async (caller, { id, ...options }, { services }) => {
    const { key, created } = await services.keys.revokeFor(caller, uuidOf(id), options);
    return { apiKey: toApiKeyNode(key), alsoRevoked: created.map(toApiKeyNode) };
  }),
};

function toIssuedKeyPayload({ key, text }: IssuedKey) {
  return { apiKey: toApiKeyNode(key), secret: text };
}

function toKeyRequest({ name, scopes, expiresAt, cidrs, organizationId }: CreateApiKeyInput) {
  return {
    name,
    scopes: scopes ?? null,
    expiresAt: expiresAt ?? null,
    cidrs: cidrs ?? null,
    organizationId:
      typeof organizationId === "string" ? organizationUuid("organizationId", organizationId) : null,
  };
}

/** Throws NotFoundException for malformed IDs too. */
function uuidOf(id: string): string {
  const uuid = fromTypedId("key", id);
  if (uuid === null) throw new AppError("NotFoundException", "There is no such key");
  return uuid;
}
