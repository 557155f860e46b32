/** OpenAPI operations of API keys. */
import { z } from "zod";
import {
  apiKeyListSchema,
  issuedKeySchema,
  newKeyBody,
  revocationParameters,
  revokedKeysSchema,
  rotationBody,
} from "../api-keys.schema.ts";
import { inBody, inQuery, invalidExample } from "./error-examples.ts";
import { rateLimitHeaders, secretIdempotencyKeyHeader } from "./headers.ts";
import { changeErrors, jsonBody, operation } from "./operation.ts";

const tag = "API keys";
const scopes = ["keys:manage"] as const;

export const exampleApiKey = {
  id: "key_01KAB7Q3M5E8RZ2C4WFX9TNH6D",
  prefix: "wmk_ab12cd34",
  name: "Warehouse sync",
  mode: "live",
  scopes: ["jobs:read"],
  cidrs: ["203.0.113.0/24"],
  created_by: "usr_01KA4C0R6M8T2V5X9ZB3DFHJKN",
  created_at: "2026-11-20T06:30:00.000Z",
  expires_at: null,
  revoked_at: null,
  last_used_at: "2026-11-21T09:15:00.000Z",
};

const exampleIssued = {
  api_key: { ...exampleApiKey, last_used_at: null },
  secret: "wmk_…",
};

const idempotencyKey = z.object({ "Idempotency-Key": secretIdempotencyKeyHeader });
const pathParameters = z.object({
  id: z.string().meta({ description: "Key ID", examples: [exampleApiKey.id] }),
});

const ownErrors = {
  NotFoundException: {
    description: "Your organization has no key with this ID.",
    examples: [{ summary: "Unknown key", message: "No such key" }],
  },
};
const forbidden = {
  description:
    "The calling key lacks a scope, or would exceed its own rights, or the request may not use it.",
  examples: [
    { summary: "No scope", message: "The API key lacks the scope keys:manage" },
    {
      summary: "More rights than the calling key",
      message: "The key of this request does not have the scope webhooks:manage",
    },
  ],
  // A request whose rights are compared counts against the key's limit.
  headers: rateLimitHeaders,
};
const conflict = (summary: string, message: string, details: { limit: number } | null) => ({
  description: `${summary}, or the first request with this Idempotency-Key is still in progress.`,
  examples: [
    { summary, message, details },
    { summary: "Still in progress", message: "A request with this Idempotency-Key is still in progress" },
  ],
});

export const listApiKeys = operation({
  method: "get",
  path: "/api-keys",
  operationId: "listApiKeys",
  summary: "List API keys",
  description:
    "Your organization's keys, oldest first: valid keys, and keys that expired or were revoked in the last 30 days. At most 1,000; valid keys take precedence, then the newest.",
  tag,
  scopes,
  success: {
    description: "The keys.",
    name: "ApiKeyListEnvelope",
    data: apiKeyListSchema,
    examples: { "One key": { items: [exampleApiKey] } },
  },
});

export const createApiKey = operation({
  method: "post",
  path: "/api-keys",
  operationId: "createApiKey",
  summary: "Create an API key",
  description: `Creates a key with at most the scopes, expiry and IP address ranges of the calling key. The owners of the organization
get an e-mail. An organization has at most 100 active keys.

The key itself is in this response only. If you lose the response, revoke the key and create another.`,
  tag,
  scopes,
  request: {
    headers: idempotencyKey,
    body: jsonBody("The new key.", newKeyBody, {
      reader: {
        summary: "A key that may read jobs from one network",
        value: { name: "Warehouse sync", scopes: ["jobs:read"], cidrs: ["203.0.113.0/24"] },
      },
    }),
  },
  success: {
    status: 201,
    description: "The new key.",
    name: "IssuedApiKeyEnvelope",
    data: issuedKeySchema,
    examples: { "The new key": exampleIssued },
    headers: ["Idempotency-Replayed"],
  },
  malformed: [
    invalidExample("Several problems", [
      inBody(
        "scopes[0]",
        "invalid_value",
        "must be one of jobs:read, jobs:write, webhooks:manage, keys:manage",
      ),
      inBody("cidrs[0]", "invalid_value", "must be a CIDR range such as 203.0.113.0/24"),
    ]),
    invalidExample("A misspelt member", [
      inBody("scope", "unknown_member", "is not a known member; did you mean scopes?"),
    ]),
  ],
  errors: changeErrors,
  ownErrors: {
    ForbiddenException: forbidden,
    ConflictException: conflict(
      "There are 100 active keys",
      "There are already 100 active keys; revoke one first",
      { limit: 100 },
    ),
  },
});

export const rotateApiKey = operation({
  method: "post",
  path: "/api-keys/{id}/rotate",
  operationId: "rotateApiKey",
  summary: "Replace an API key",
  description: `Creates a key with the same rights, which must not exceed those of the calling key. The old key remains valid for
\`grace_hours\`. The body is optional.`,
  tag,
  scopes,
  request: {
    params: pathParameters,
    headers: idempotencyKey,
    body: {
      ...jsonBody("How long the old key remains valid.", rotationBody, {
        immediately: { summary: "Replace a leaked key immediately", value: { grace_hours: 0 } },
      }),
      required: false,
    },
  },
  success: {
    status: 201,
    description: "The new key.",
    name: "IssuedApiKeyEnvelope",
    data: issuedKeySchema,
    examples: { "The new key": exampleIssued },
    headers: ["Idempotency-Replayed"],
  },
  malformed: [invalidExample("Too long", [inBody("grace_hours", "invalid_value", "must be from 0 to 24")])],
  errors: changeErrors,
  ownErrors: {
    ...ownErrors,
    ForbiddenException: forbidden,
    ConflictException: conflict(
      "The key has expired or is revoked, or there are 100 active keys",
      "A revoked key cannot be rotated; create a new one",
      null,
    ),
  },
});

export const revokeApiKey = operation({
  method: "delete",
  path: "/api-keys/{id}",
  operationId: "revokeApiKey",
  summary: "Revoke an API key",
  description: `All servers reject the key within a second. The key must not have scopes that the calling key lacks; a key may revoke
itself. Revoking a revoked key changes nothing.`,
  tag,
  scopes,
  request: { params: pathParameters, query: revocationParameters },
  success: {
    description: "The revoked keys.",
    name: "RevokedApiKeysEnvelope",
    data: revokedKeysSchema,
    examples: {
      "One key": {
        api_key: { ...exampleApiKey, revoked_at: "2026-11-21T09:15:42.318Z" },
        also_revoked: [],
      },
    },
  },
  malformed: [
    invalidExample("A malformed parameter", [
      inQuery("include_created_keys", "invalid_value", "must be true or false"),
    ]),
  ],
  ownErrors: { ...ownErrors, ForbiddenException: forbidden },
});
