/** Lists and changes the API keys that the principal may manage. */
import { type IssuedKey, keyUuid } from "../../../api-keys/api.ts";
import { listedMode } from "../authenticated-principal.ts";
import { requireKeyManager } from "../authorize.ts";
import { organizationUuid } from "../arguments.ts";
import type { CreateApiKeyInput, MutationResolvers, QueryResolvers } from "../generated/schema-types.ts";
import { toApiKeyNode } from "../nodes/api-key.node.ts";
import { BY_ID, mutation } from "../mutation.ts";

export const apiKeyQueries: QueryResolvers = {
  async apiKeys(_root, { mode }, context) {
    const principal = requireKeyManager(context);
    const listed = listedMode(principal, mode);
    const keys = await context.services.keys.listFor(principal, context.database, listed);
    return keys.map(toApiKeyNode);
  },
};

export const apiKeyMutations: MutationResolvers = {
  createApiKey: mutation(
    requireKeyManager,
    { fields: "input", subject: "input" },
    async (caller, { input }, { services }) =>
      toIssuedKeyPayload(await services.keys.createFor(caller, toKeyRequest(input))),
  ),

  rotateApiKey: mutation(requireKeyManager, BY_ID, async (caller, { id, graceHours }, { services }) =>
    toIssuedKeyPayload(await services.keys.rotateFor(caller, keyUuid(id), graceHours)),
  ),

  revokeApiKey: mutation(requireKeyManager, BY_ID, async (caller, { id, ...options }, { services }) => {
    const { key, created } = await services.keys.revokeFor(caller, keyUuid(id), options);
    return { apiKey: toApiKeyNode(key), alsoRevoked: created.map(toApiKeyNode) };
  }),
};

function toIssuedKeyPayload({ key, text }: IssuedKey) {
  return { apiKey: toApiKeyNode(key), secret: text };
}

function toKeyRequest({ organizationId, ...input }: CreateApiKeyInput) {
  const { name, scopes, expiresAt, cidrs, mode, organizationType } = input;
  return {
    name,
    scopes: scopes ?? null,
    expiresAt: expiresAt ?? null,
    cidrs: cidrs ?? null,
    mode,
    organizationType,
    organizationId:
      typeof organizationId === "string" ? organizationUuid("organizationId", organizationId) : null,
  };
}
