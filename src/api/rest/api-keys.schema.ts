/** Requests and responses of the API key routes as zod: for the routes, for OpenAPI and for the contract tests. */
import { z } from "zod";
import { GRACE_HOURS, scopes } from "../../api-keys/api.ts";
import { organizationModes } from "../../organizations/api.ts";
import { organizationTypes } from "../../core/principal.ts";
import {
  booleanParameter,
  dateTime,
  dateTimeParameter,
  extensibleEnum,
  idSchema,
  mustBe,
} from "../../operations/schemas.ts";

export const modeSchema = extensibleEnum(
  organizationModes,
  "`live`: requests change real jobs. `test`: they see and change only test data",
);
const scope = extensibleEnum(scopes, "A permission");
const name = { description: "Name that says what the key is for", examples: ["Warehouse sync"] };
const cidrs = { description: "IP address ranges that may use the key", examples: [["203.0.113.0/24"]] };

export const apiKeySchema = z
  .object({
    id: idSchema("key", "Key ID", "key_01KAB7Q3M5E8RZ2C4WFX9TNH6D"),
    prefix: z.string().meta({
      description: "Prefix of the key: `wmk_`, or `wmk_test_` for a test key, and 8 characters",
      examples: ["wmk_ab12cd34"],
    }),
    name: z.string().meta(name),
    mode: modeSchema,
    scopes: z.array(scope).meta({ description: "Scopes of the key" }),
    cidrs: z
      .array(z.string())
      .nullable()
      .meta({ ...cidrs, description: `${cidrs.description}; null: any IP address` }),
    created_by: z.string().meta({
      description: "ID of the user or key that created it, or a name such as `cli`",
      examples: ["usr_01KA4C0R6M8T2V5X9ZB3DFHJKN"],
    }),
    created_at: dateTime("Creation time", "2026-11-20T06:30:00.000Z"),
    expires_at: dateTime("Expiry time; null if it does not expire", "2027-11-20T06:30:00.000Z").nullable(),
    revoked_at: dateTime(
      "Time of revocation; null if it is not revoked",
      "2026-11-21T09:15:42.318Z",
    ).nullable(),
    last_used_at: dateTime(
      "Time of the last use, accurate to the minute; null if never used",
      "2026-11-21T09:15:42.318Z",
    ).nullable(),
  })
  .meta({ id: "ApiKey", description: "An API key, without its secret." });

export const apiKeyListSchema = z
  .object({ items: z.array(apiKeySchema).meta({ description: "The keys, oldest first" }) })
  .meta({ id: "ApiKeyList" });

export const issuedKeySchema = z
  .object({
    api_key: apiKeySchema,
    secret: z
      .string()
      .nullable()
      .meta({
        description:
          "The key itself. It is returned once; null in a response repeated for an Idempotency-Key",
        examples: ["wmk_…"],
      }),
  })
  .meta({ id: "IssuedApiKey", description: "A new API key." });

export const revokedKeysSchema = z
  .object({
    api_key: apiKeySchema,
    also_revoked: z
      .array(apiKeySchema)
      .meta({ description: "Other keys revoked with it; empty without `include_created_keys`" }),
  })
  .meta({ id: "RevokedApiKeys", description: "The revoked keys." });

export const newKeyBody = z
  .object({
    name: z.string(mustBe("a string")).meta({ ...name, minLength: 1, maxLength: 100 }),
    scopes: z
      .array(scope, mustBe("a list of scopes"))
      .nullish()
      .meta({
        description:
          "Scopes of the key, at most those of the calling key; null or absent: the same scopes, without `keys:manage`. Required if that is the only one",
        examples: [["jobs:read"]],
      }),
    expires_at: dateTimeParameter.nullish().meta({
      type: ["string", "null"],
      description:
        "Expiry time, no later than that of the calling key; null or absent: that of the calling key",
      examples: ["2027-11-20T06:30:00Z"],
    }),
    cidrs: z
      .array(z.string(mustBe("a CIDR range")), mustBe("a list of CIDR ranges"))
      .nullish()
      .meta({
        ...cidrs,
        description: `${cidrs.description}, within those of the calling key; null or absent: those of the calling key`,
      }),
    mode: extensibleEnum(
      organizationModes,
      "`test` creates a test key; null or absent: the mode of the calling key",
    )
      .nullish()
      .meta({ type: ["string", "null"] }),
    organization_type: extensibleEnum(
      organizationTypes,
      "For a test key: the side of test jobs that it sees; null or absent: the type of your organization",
    )
      .nullish()
      .meta({ type: ["string", "null"] }),
  })
  .meta({ id: "ApiKeyInput", description: "A new API key." });

export const rotationBody = z
  .object({
    grace_hours: z
      .int(mustBe("a whole number"))
      .optional()
      .meta({
        minimum: GRACE_HOURS.min,
        maximum: GRACE_HOURS.max,
        description: `Hours for which the old key remains valid; default: ${GRACE_HOURS.default}`,
        examples: [GRACE_HOURS.default],
      }),
  })
  .meta({ id: "ApiKeyRotation" });

export const revocationParameters = z.object({
  include_created_keys: booleanParameter.default(false).meta({
    default: false,
    description: "Revoke the keys that it created too, directly or through other keys.",
    examples: [true],
  }),
});
