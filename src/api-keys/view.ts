/** API keys as the API shows them, without their secrets: typed IDs, times in ISO 8601. */
import { z } from "zod";
import { toTypedId } from "../core/ids.ts";
import { dateTime, extensibleEnum, idSchema } from "../operations/schemas.ts";
import { organizationModes } from "../organizations/api.ts";
import { type ApiKey, modeOfKey, scopes } from "./entity.ts";

export const keyMode = extensibleEnum(
  organizationModes,
  "`live`: requests change real jobs. `test`: they see and change only test data",
);
export const keyScope = extensibleEnum(scopes, "A permission");
export const keyName = { description: "Name that says what the key is for", examples: ["Warehouse sync"] };
export const keyCidrs = {
  description: "IP address ranges that may use the key",
  examples: [["203.0.113.0/24"]],
};

export const apiKeyView = z
  .object({
    id: idSchema("key", "Key ID", "key_01KAB7Q3M5E8RZ2C4WFX9TNH6D"),
    prefix: z.string().meta({
      description: "Prefix of the key: `wmk_`, or `wmk_test_` for a test key, and 8 characters",
      examples: ["wmk_ab12cd34"],
    }),
    name: z.string().meta(keyName),
    mode: keyMode,
    scopes: z.array(keyScope).meta({ description: "Scopes of the key" }),
    cidrs: z
      .array(z.string())
      .nullable()
      .meta({ ...keyCidrs, description: `${keyCidrs.description}; null: any IP address` }),
    createdBy: z.string().meta({
      description: "ID of the user or key that created it, or a name such as `cli`",
      examples: ["usr_01KA4C0R6M8T2V5X9ZB3DFHJKN"],
    }),
    createdAt: dateTime("Creation time", "2026-11-20T06:30:00.000Z"),
    expiresAt: dateTime("Expiry time; null if it does not expire", "2027-11-20T06:30:00.000Z").nullable(),
    revokedAt: dateTime(
      "Time of revocation; null if it is not revoked",
      "2026-11-21T09:15:42.318Z",
    ).nullable(),
    lastUsedAt: dateTime(
      "Time of the last use, accurate to the minute; null if never used",
      "2026-11-21T09:15:42.318Z",
    ).nullable(),
  })
  .meta({ id: "ApiKey", description: "An API key, without its secret." });

export type ApiKeyView = ReturnType<typeof toApiKeyView>;

/** `key` has its organisation loaded. The view has the organisation, too: null for an operator's key. */
export function toApiKeyView(key: ApiKey) {
  const { prefix, name, scopes: granted, cidrs = null, createdBy, organization } = key;
  return {
    id: toTypedId("key", key.id),
    prefix,
    name,
    mode: modeOfKey(key),
    scopes: granted,
    cidrs: cidrs ?? null,
    createdBy,
    createdAt: key.createdAt.toISOString(),
    expiresAt: key.expiresAt?.toISOString() ?? null,
    revokedAt: key.revokedAt?.toISOString() ?? null,
    lastUsedAt: key.lastUsedAt?.toISOString() ?? null,
    organization: organization
      ? { id: toTypedId("org", organization.id), name: organization.name, type: organization.type }
      : null,
  };
}
