/** What is deprecated, and which API keys of the organisation still use it. */
import type { UsedDeprecation } from "../../deprecations/api.ts";
import { requireKeyManager } from "../authorize.ts";
import type { QueryResolvers } from "../generated/schema-types.ts";
import { toApiKeyNode } from "../nodes/api-key.node.ts";

export const deprecationQueries: QueryResolvers = {
  async deprecations(_root, _args, context) {
    const used = await context.services.deprecationUses.list(requireKeyManager(context), context.database);
    return used.map(toDeprecation);
  },
};

function toDeprecation({ deprecation, name, uses }: UsedDeprecation) {
  const { id, since, sunset, replacement } = deprecation;
  return {
    code: id,
    name,
    since,
    sunset,
    replacement,
    uses: uses.map(({ apiKey, firstUsedAt, lastUsedAt, requests }) => ({
      apiKey: toApiKeyNode(apiKey),
      firstUsedAt: firstUsedAt.toISOString(),
      lastUsedAt: lastUsedAt.toISOString(),
      requests,
    })),
  };
}
