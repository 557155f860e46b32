/** Converts API keys to JSON, without their secrets. */
import { type ApiKey, modeOfKey } from "../../api-keys/api.ts";
import { toTypedId } from "../../core/ids.ts";

export function toApiKeyWire(key: ApiKey) {
  return {
    id: toTypedId("key", key.id),
    prefix: key.prefix,
    name: key.name,
    mode: modeOfKey(key),
    scopes: key.scopes,
    cidrs: key.cidrs ?? null,
    created_by: key.createdBy,
    created_at: key.createdAt.toISOString(),
    expires_at: key.expiresAt?.toISOString() ?? null,
    revoked_at: key.revokedAt?.toISOString() ?? null,
    last_used_at: key.lastUsedAt?.toISOString() ?? null,
  };
}
