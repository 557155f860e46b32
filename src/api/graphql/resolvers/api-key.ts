/** Lists the API keys that the principal may manage. */
import { toApiKeyView } from "../../../api-keys/api.ts";
import { listedMode } from "../authenticated-principal.ts";
import { requireKeyManager } from "../authorize.ts";
import type { QueryResolvers } from "../generated/schema-types.ts";

export const apiKeyQueries: QueryResolvers = {
  async apiKeys(_root, { mode }, context) {
    const principal = requireKeyManager(context);
    const listed = listedMode(principal, mode);
    const keys = await context.services.keys.listFor(principal, context.database, listed);
    return keys.map(toApiKeyView);
  },
};
