/** The operations of API keys. */
import { z } from "zod";
import { invariant, problemIn } from "../core/errors.ts";
import { organizationTypes, partnerOf } from "../core/principal.ts";
import { anyone, type OwnErrorText, type RestOperation, restOperation } from "../operations/operation.ts";
import { booleanParameter, extensibleEnum, idSchema, mustBe } from "../operations/schemas.ts";
import { rateLimitClasses, type RateLimits, rateLimitsOf } from "../rate-limits/api.ts";
import { GRACE_HOURS, GRACE_HOURS_RULE, type IssuedKey } from "./changes.ts";
import { newKey } from "./input.ts";
import { type ApiKeyService, keyUuid } from "./service.ts";
import { apiKeyView, keyMode, toApiKeyView } from "./view.ts";

interface Services {
  readonly keys: ApiKeyService;
  readonly limits: RateLimits | null;
}

const tag = "API keys";
const manage = { scopes: ["keys:manage"] } as const;
const inBody = problemIn("body");

const exampleApiKey: z.output<typeof apiKeyView> = {
  id: "key_01KAB7Q3M5E8RZ2C4WFX9TNH6D",
  prefix: "wmk_ab12cd34",
  name: "Warehouse sync",
  mode: "live",
  scopes: ["jobs:read"],
  cidrs: ["203.0.113.0/24"],
  createdBy: "usr_01KA4C0R6M8T2V5X9ZB3DFHJKN",
  createdAt: "2026-11-20T06:30:00.000Z",
  expiresAt: null,
  revokedAt: null,
  lastUsedAt: "2026-11-21T09:15:00.000Z",
};
const newKeyExample = { "The new key": { apiKey: { ...exampleApiKey, lastUsedAt: null }, secret: "wmk_…" } };

const keyPath = z.object({ id: z.string().meta({ description: "Key ID", examples: [exampleApiKey.id] }) });

const issuedKey = z
  .object({
    apiKey: apiKeyView,
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

const toIssued = ({ key, text }: IssuedKey) => ({ apiKey: toApiKeyView(key), secret: text });

const unknownKey: OwnErrorText = {
  description: "Your organization has no key with this ID.",
  examples: [{ summary: "Unknown key", message: "No such key" }],
};
const forbidden: OwnErrorText = {
  description:
    "The calling key lacks a scope, or would exceed its own rights, or the request may not use it.",
  examples: [
    { summary: "No scope", message: "The API key lacks the scope keys:manage" },
    {
      summary: "More rights than the calling key",
      message: "The key of this request does not have the scope webhooks:manage",
    },
  ],
};
const conflict = (summary: string, message: string, details: { limit: number } | null): OwnErrorText => ({
  description: `${summary}, or the first request with this Idempotency-Key is still in progress.`,
  examples: [
    { summary, message, details },
    { summary: "Still in progress", message: "A request with this Idempotency-Key is still in progress" },
  ],
});

const listKeys = restOperation({
  name: "listApiKeys",
  rest: { method: "get", path: "/api-keys" },
  access: manage,
  rate: "read",
  fresh: false,
  output: z
    .object({ items: z.array(apiKeyView).meta({ description: "The keys, oldest first" }) })
    .meta({ id: "ApiKeyList" }),
  text: {
    tag,
    summary: "List API keys",
    description:
      "Your organization's keys, oldest first: valid keys, and keys that expired or were revoked in the last 30 days. At most 1,000; valid keys take precedence, then the newest.",
    result: { description: "The keys.", examples: { "One key": { items: [exampleApiKey] } } },
  },
  run: async ({ keys }: Services, principal) => ({
    items: (await keys.listFor(principal)).map(toApiKeyView),
  }),
});

const createKey = restOperation({
  name: "createApiKey",
  rest: { method: "post", path: "/api-keys", status: 201 },
  access: manage,
  rate: "write",
  // Only for a test key of the user's own organisation a user needs none.
  fresh: "service",
  once: { secrets: ["secret"] },
  input: newKey,
  output: issuedKey,
  text: {
    tag,
    summary: "Create an API key",
    description: `Creates a key with at most the scopes, expiry and IP address ranges of the calling key. The owners of the organization
get an e-mail. An organization has at most 100 active keys.

The key itself is in this response only. If you lose the response, revoke the key and create another.`,
    body: {
      description: "The new key.",
      examples: {
        reader: {
          summary: "A key that may read jobs from one network",
          value: { name: "Warehouse sync", scopes: ["jobs:read"], cidrs: ["203.0.113.0/24"] },
        },
      },
    },
    result: { description: "The new key.", examples: newKeyExample },
    malformed: [
      {
        summary: "Several problems",
        problems: [
          inBody(
            "scopes[0]",
            "invalid_value",
            "must be one of jobs:read, jobs:write, webhooks:manage, keys:manage",
          ),
          inBody("cidrs[0]", "invalid_value", "must be a CIDR range such as 203.0.113.0/24"),
        ],
      },
      {
        summary: "A misspelt member",
        problems: [inBody("scope", "unknown_member", "is not a known member; did you mean scopes?")],
      },
    ],
    ownErrors: {
      ForbiddenException: forbidden,
      ConflictException: conflict(
        "There are 100 active keys",
        "There are already 100 active keys; revoke one first",
        { limit: 100 },
      ),
    },
  },
  async run({ keys }: Services, principal, { expiresAt: until, ...input }, { tx, organizationId }) {
    const expiresAt = typeof until === "string" ? new Date(until) : null;
    return toIssued(await keys.createFor(principal, { ...input, expiresAt, organizationId }, tx));
  },
});

const rotateKey = restOperation({
  name: "rotateApiKey",
  rest: { method: "post", path: "/api-keys/{id}/rotate", status: 201 },
  access: manage,
  rate: "write",
  fresh: true,
  once: { secrets: ["secret"] },
  params: keyPath,
  input: z
    .object({
      graceHours: z
        .int(mustBe("a whole number"))
        .refine((hours) => hours >= GRACE_HOURS.min && hours <= GRACE_HOURS.max, { error: GRACE_HOURS_RULE })
        .optional()
        .meta({
          minimum: GRACE_HOURS.min,
          maximum: GRACE_HOURS.max,
          description: `Hours for which the old key remains valid; default: ${GRACE_HOURS.default}`,
          examples: [GRACE_HOURS.default],
        }),
    })
    .meta({ id: "ApiKeyRotation" }),
  output: issuedKey,
  text: {
    tag,
    summary: "Replace an API key",
    description: `Creates a key with the same rights, which must not exceed those of the calling key. The old key remains valid for
\`grace_hours\`. The body is optional.`,
    body: {
      description: "How long the old key remains valid.",
      isOptional: true,
      examples: { immediately: { summary: "Replace a leaked key immediately", value: { graceHours: 0 } } },
    },
    result: { description: "The new key.", examples: newKeyExample },
    malformed: [
      { summary: "Too long", problems: [inBody("grace_hours", "invalid_value", "must be from 0 to 24")] },
    ],
    ownErrors: {
      NotFoundException: unknownKey,
      ForbiddenException: forbidden,
      ConflictException: conflict(
        "The key has expired or is revoked, or there are 100 active keys",
        "A revoked key cannot be rotated; create a new one",
        null,
      ),
    },
  },
  run: async ({ keys }: Services, principal, { id, graceHours = GRACE_HOURS.default }, { tx }) =>
    toIssued(await keys.rotateFor(principal, keyUuid(id), graceHours, tx)),
});

const revokeKey = restOperation({
  name: "revokeApiKey",
  rest: { method: "delete", path: "/api-keys/{id}" },
  access: manage,
  rate: "write",
  fresh: false,
  params: keyPath,
  input: z.object({
    includeCreatedKeys: booleanParameter.default(false).meta({
      default: false,
      description: "Revoke the keys that it created too, directly or through other keys.",
      examples: [true],
    }),
  }),
  output: z
    .object({
      apiKey: apiKeyView,
      alsoRevoked: z
        .array(apiKeyView)
        .meta({ description: "Other keys revoked with it; empty without `include_created_keys`" }),
    })
    .meta({ id: "RevokedApiKeys", description: "The revoked keys." }),
  text: {
    tag,
    summary: "Revoke an API key",
    description: `All servers reject the key within a second. The key must not have scopes that the calling key lacks; a key may revoke
itself. Revoking a revoked key changes nothing.`,
    result: {
      description: "The revoked keys.",
      examples: {
        "One key": { apiKey: { ...exampleApiKey, revokedAt: "2026-11-21T09:15:42.318Z" }, alsoRevoked: [] },
      },
    },
    malformed: [
      {
        summary: "A malformed parameter",
        problems: [problemIn("query")("include_created_keys", "invalid_value", "must be true or false")],
      },
    ],
    ownErrors: { NotFoundException: unknownKey, ForbiddenException: forbidden },
  },
  async run({ keys }: Services, principal, { id, includeCreatedKeys }) {
    const { key, created } = await keys.revokeFor(principal, keyUuid(id), { includeCreatedKeys });
    return { apiKey: toApiKeyView(key), alsoRevoked: created.map(toApiKeyView) };
  },
});

const tokenRate = {
  perSecond: z.number().meta({ description: "Sustained number of requests per second", examples: [50] }),
  burst: z.number().meta({ description: "Number of requests at once", examples: [100] }),
};
const rateLimit = z
  .object({
    class: extensibleEnum(rateLimitClasses, "Class of requests"),
    ...tokenRate,
    organization: z.object(tokenRate).meta({
      id: "SharedRateLimit",
      description: "Limit of all keys of the organization together.",
    }),
  })
  .meta({ id: "RateLimit", description: "The key's limit for a class of requests." });

const me = z
  .object({
    organization: z
      .object({
        id: idSchema("org", "Organization ID", "org_01KA2M8D6R4TX0VQ9ZC7JH3EWB"),
        name: z.string().meta({ description: "Name", examples: ["Harbour Logistics"] }),
        type: extensibleEnum(organizationTypes, "Type of organization"),
      })
      .meta({ id: "Organization", description: "The organization of the key." }),
    apiKey: apiKeyView,
    mode: keyMode,
    rateLimits: z
      .array(rateLimit)
      .meta({ description: "Rate limits by class of request; a class without an entry is unlimited" }),
  })
  .meta({ id: "Me", description: "Who the key is and what it may do." });

const getMe = restOperation({
  name: "getMe",
  rest: { method: "get", path: "/me" },
  access: anyone,
  rate: "read",
  fresh: false,
  output: me,
  text: {
    tag: "Account",
    summary: "Get your organization, key and limits",
    description:
      "The organization and the API key of the request, its scopes and its rate limits. Use it to test a key.",
    result: {
      description: "The organization and the key.",
      examples: {
        "A key that may read jobs": {
          organization: { id: "org_01KA2M8D6R4TX0VQ9ZC7JH3EWB", name: "Harbour Logistics", type: "agent" },
          apiKey: exampleApiKey,
          mode: "live",
          rateLimits: [
            { class: "read", perSecond: 50, burst: 100, organization: { perSecond: 200, burst: 400 } },
          ],
        },
      },
    },
  },
  async run({ keys, limits }: Services, principal) {
    const { keyId, organizationId, rateLimits } = principal;
    invariant(keyId !== null && organizationId !== null, "the request has the key of an organisation");
    const apiKey = toApiKeyView(await keys.getFor(principal, keyId));
    invariant(apiKey.organization, "the key belongs to an organisation");
    const ofPartner = rateLimitsOf(limits, { rateLimits, partnerId: partnerOf(principal) });
    return {
      organization: apiKey.organization,
      apiKey,
      mode: apiKey.mode,
      rateLimits: ofPartner.map((limit) => {
        invariant(limit.organization, "keys of an organisation have a shared limit");
        return { ...limit, organization: limit.organization };
      }),
    };
  },
});

export const accountOperations: readonly RestOperation<Services>[] = [getMe];

/** The access of the root fields of GraphQL with hand-written resolvers. */
export const apiKeyAccess = { apiKeys: manage, viewer: anyone };

export const apiKeyOperations: readonly RestOperation<Services>[] = [
  listKeys,
  createKey,
  rotateKey,
  revokeKey,
];
