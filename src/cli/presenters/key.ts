/** Output of an API key, without its secret, and the lookup by a command's argument. */
import { type ApiKey, type ApiKeyService, parseLookup } from "../../api-keys/api.ts";
import { AppError } from "../../platform/errors.ts";
import { toTypedId } from "../../platform/ids.ts";

export const KEY_ARGUMENT_HELP = "key ID, prefix as shown in the console (wmk_ab12cd34) or full key";

export function presentKey(key: ApiKey) {
  return {
    id: toTypedId("key", key.id),
    starts_with: `wmk_${key.lookup}`,
    organization_id: key.organization ? toTypedId("org", key.organization.id) : null,
    name: key.name,
    scopes: key.scopes,
    cidrs: key.cidrs ?? null,
    created_by: key.createdBy,
    created_at: key.createdAt,
    expires_at: key.expiresAt ?? null,
    revoked_at: key.revokedAt ?? null,
    last_used_at: key.lastUsedAt ?? null,
  };
}

/** Finds a key by its ID, its prefix (with or without `wmk_`) or the full key. Throws NotFoundException. */
export async function getKey(keys: ApiKeyService, text: string): Promise<ApiKey> {
  const key = await keys.find(parseLookup(text) ?? text.replace(/^wmk_([0-9a-z]{8})_?$/, "$1"));
  // The text may be a full key, so the message must not repeat it.
  if (!key) throw new AppError("NotFoundException", "No API key has this ID or prefix");
  return key;
}
