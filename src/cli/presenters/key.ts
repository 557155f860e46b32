/** A key as commands show it: everything but its secret. */
import { type ApiKey, type ApiKeyService, parseLookup } from "../../api-keys/api.ts";
import { AppError } from "../../platform/errors.ts";
import { toTypedId } from "../../platform/ids.ts";

export const KEY_ARGUMENT_HELP =
  "the key's id, its prefix as the console shows it (wmk_ab12cd34) or the whole key";

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

/** The key that an operator means, whichever part of it is at hand. Throws NotFoundException. */
export async function getKey(keys: ApiKeyService, text: string): Promise<ApiKey> {
  const key = await keys.find(parseLookup(text) ?? text.replace(/^wmk_([0-9a-z]{8})_?$/, "$1"));
  // The text may be a secret, so it is not told back.
  if (!key) throw new AppError("NotFoundException", "There is no such key");
  return key;
}
