import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, it } from "vitest";
import { operationsOf } from "../../src/api/rest/openapi/operations.ts";
import type { ErrorCode } from "../../src/core/errors.ts";
import {
  apiDocument,
  schemaViolations,
  contract,
  resolveReference,
  type MediaType,
  type Operation,
  type Parameter,
} from "../support/app/openapi-contract.ts";
import { listDocumentedRoutes } from "../support/app/registered-routes.ts";

const { components, paths, webhooks } = contract;

interface Named {
  /** `GET /v1/jobs` */
  name: string;
  operation: Operation;
}

function namedOperations(items: typeof paths): Named[] {
  return operationsOf<Operation>(items).map(({ method, path, operation }) => ({
    name: `${method} ${path}`,
    operation,
  }));
}

const operations = namedOperations(paths);
const all = [...operations, ...namedOperations(webhooks)];

const mediaOf = (content: Record<string, MediaType> = {}): MediaType[] => Object.values(content);
const examplesOf = ({ example, examples = {} }: MediaType): unknown[] => [
  ...(example === undefined ? [] : [example]),
  ...Object.values(examples).map(({ value }) => value),
];
function scopesOf(name: string): string[] {
  // An endpoint receives whole jobs.
  if (/^POST \/v1\/(webhook-endpoints|test\/events\/\{type\})$/.test(name))
    return ["webhooks:manage", "jobs:read"];
  if (name.includes(" /v1/webhook-")) return ["webhooks:manage"];
  if (name.includes(" /v1/api-keys")) return ["keys:manage"];
  if (/^GET \/v1\/(me|requests)/.test(name)) return [];
  // Changes return the job.
  return name.startsWith("PATCH") || name.includes(" /v1/test/") || name.endsWith("/reschedule")
    ? ["jobs:write", "jobs:read"]
    : ["jobs:read"];
}

/** The names of operations for which `has` is false. */
const operationsWithout = (has: (operation: Operation) => boolean, among = all): string[] =>
  among.filter(({ operation }) => !has(operation)).map(({ name }) => name);

function isDescribed({ description, schema: { examples = [] } }: Parameter): boolean {
  return /\w/.test(description) && examples.length > 0;
}

function withExamples({ requestBody, responses }: Operation): boolean {
  return [requestBody, ...Object.values(responses).map((response) => resolveReference(response))]
    .flatMap((body) => body?.content?.["application/json"] ?? [])
    .every((media) => examplesOf(media).length > 0);
}

function withId({ responses }: Operation): boolean {
  return Object.values(responses).every(
    (response) => "X-Request-Id" in (resolveReference(response).headers ?? {}),
  );
}

function breachesOfExamples(schema: { examples?: unknown[] }): string[] {
  return (schema.examples ?? []).flatMap((example) => schemaViolations(schema, example));
}

describe("the OpenAPI document", () => {
  it("is valid OpenAPI 3.1", async () => {
    const validator = new Validator();
    expect(await validator.validate({ ...structuredClone(apiDocument) })).toMatchObject({ valid: true });
    expect(validator.version).toBe("3.1");
  });

  it("contains only valid JSON Schema 2020-12, without unknown keywords and formats", () => {
    for (const schema of Object.values(components.schemas))
      expect(() => schemaViolations(schema, null)).not.toThrow();
    expect(Object.keys(components.schemas).length).toBeGreaterThan(30);
  });

  // evidence: openapi-matches-routes
  it("has exactly the routes under /v1", () => {
    const described = operations.map(({ name }) => name);
    expect(described.toSorted()).toEqual(listDocumentedRoutes().toSorted());
  });

  // evidence: openapi-versioning-documented
  it("documents how v1 changes and how removals are announced", () => {
    expect(contract.info.description).toMatch(
      /remove or rename nothing in v1 without[^]*12 months[^]*Deprecation[^]*Sunset/,
    );
  });
});

describe("every operation", () => {
  it("has a unique operationId, a summary, a description and a known tag", () => {
    const known = new Set(apiDocument.tags.map(({ name }) => name));
    expect(operationsWithout(({ summary, description }) => summary !== "" && description !== "")).toEqual([]);
    expect(operationsWithout(({ tags }) => tags.length === 1 && tags.every((tag) => known.has(tag)))).toEqual(
      [],
    );
    expect(new Set(all.map(({ operation }) => operation.operationId)).size).toBe(all.length);
  });

  // evidence: openapi-parameters-described
  it("has a description and an example for every parameter", () => {
    expect(operationsWithout(({ parameters = [] }) => parameters.every(isDescribed))).toEqual([]);
  });

  it("has an example for every JSON request and response body", () => {
    expect(operationsWithout(withExamples)).toEqual([]);
  });

  // evidence: openapi-scopes-documented
  it("accepts the key in either header and names its scopes", () => {
    const key = [{ ApiKey: [] }, { Bearer: [] }];
    const security = Object.fromEntries(
      operations.map(({ name, operation: { security: declared, "x-required-scopes": required } }) => [
        name,
        { scopes: required, security: declared },
      ]),
    );
    const expected = operations.map(({ name }) => [name, { scopes: scopesOf(name), security: key }]);
    expect(security).toEqual(Object.fromEntries(expected));
    expect(components.securitySchemes).toMatchObject({
      ApiKey: { type: "apiKey", in: "header", name: "x-api-key" },
      Bearer: { type: "http", scheme: "bearer" },
    });
  });

  it("has X-Request-Id in every response", () => {
    expect(operationsWithout(withId, operations)).toEqual([]);
  });
});

describe("every example matches its schema", () => {
  it("in a body", () => {
    const own = all.flatMap(({ operation: { requestBody, responses } }) => [
      ...mediaOf(requestBody?.content),
      ...Object.values(responses).flatMap((response) => mediaOf(resolveReference(response).content)),
    ]);
    const shared = Object.values(components.responses).flatMap(({ content }) => mediaOf(content));
    const found = [...own, ...shared].flatMap((media) =>
      examplesOf(media).flatMap((example) => schemaViolations(media.schema, example)),
    );
    expect(found).toEqual([]);
  });

  it("in a parameter, a header or a schema", () => {
    const parameters = all.flatMap(({ operation }) => operation.parameters ?? []);
    const schemas = Object.values(components.schemas);
    const members = schemas.flatMap(({ properties = {} }) => Object.values(properties));
    const described = [...parameters.map(({ schema }) => schema), ...members];
    expect(described.flatMap(breachesOfExamples)).toEqual([]);
    const headers = Object.values(components.headers);
    expect(headers.flatMap(({ schema, example }) => schemaViolations(schema, example))).toEqual([]);
  });
});

describe("the error table", () => {
  const table: Record<ErrorCode, number> = {
    BadRequestException: 400,
    UnauthorizedException: 401,
    ForbiddenException: 403,
    NotFoundException: 404,
    MethodNotAllowedException: 405,
    ConflictException: 409,
    GoneException: 410,
    PreconditionFailedException: 412,
    PayloadTooLargeException: 413,
    UnsupportedMediaTypeException: 415,
    UnprocessableEntityException: 422,
    TooManyRequestsException: 429,
    InternalServerErrorException: 500,
    ServiceUnavailableException: 503,
  };
  const failures = operations.flatMap(({ name, operation }) =>
    Object.entries(operation.responses)
      .filter(([status]) => Number(status) >= 400)
      .map(([status, response]) => ({
        name: `${name} ${status}`,
        status: Number(status),
        response: resolveReference(response),
      })),
  );

  it("has the right code for each status", () => {
    const wrong = failures.flatMap(({ name, status, response }) =>
      examplesOf(response.content?.["application/json"] as MediaType)
        .map((example) => (example as { error: { code: ErrorCode } }).error.code)
        .filter((code) => table[code] !== status)
        .map((code) => `${name}: ${code}`),
    );
    expect(wrong).toEqual([]);
  });

  it("is complete: 405 in the description, every other status in an operation", () => {
    const documented = new Set([405, ...failures.map(({ status }) => status)]);
    expect(documented).toEqual(new Set(Object.values(table)));
    expect(apiDocument.info.description).toContain("405");
  });

  it("has the headers of 401, 429 and 503, required; those of the rate limit only where each 429 has them", () => {
    const { Unauthorized, TooManyRequests, ServiceUnavailable } = components.responses;
    const required = (response: typeof Unauthorized): string[] =>
      Object.entries(response?.headers ?? {}).flatMap(([name, header]) =>
        resolveReference(header).required ? name : [],
      );
    expect(required(Unauthorized)).toContain("WWW-Authenticate");
    expect(required(TooManyRequests)).toEqual(
      expect.arrayContaining(["Retry-After", "RateLimit", "RateLimit-Policy", "X-RateLimit-Remaining"]),
    );
    expect(required(ServiceUnavailable)).toContain("Retry-After");
    // Rate limits can be off while an operation's own limit is reached.
    const ownLimits = operations.flatMap(({ name, operation: { responses } }) =>
      "$ref" in responses[429]! ? [] : [[name, required(responses[429])]],
    );
    const withOwnLimit = [
      "POST /v1/webhook-endpoints",
      "PATCH /v1/webhook-endpoints/{id}",
      "POST /v1/webhook-endpoints/{id}/test",
      "POST /v1/webhook-endpoints/{id}/replay",
      "POST /v1/webhook-endpoints/{id}/retry",
      "POST /v1/webhook-deliveries/replay",
    ];
    expect(Object.fromEntries(ownLimits)).toEqual(
      Object.fromEntries(withOwnLimit.map((name) => [name, ["X-Request-Id", "Retry-After"]])),
    );
  });
});

describe("the webhooks", () => {
  it("are the job events with the feed's body and the test event, with Standard Webhooks headers", () => {
    expect(Object.keys(webhooks)).toEqual([
      "job.created",
      "job.updated",
      "job.status_changed",
      "job.assigned",
      "job.unassigned",
      "job.deleted",
      "webhook.test",
    ]);
    for (const [type, { post }] of Object.entries(webhooks)) {
      const name = type === "webhook.test" ? "WebhookTestEvent" : "Event";
      expect(post?.requestBody?.content["application/json"]?.schema).toEqual({
        $ref: `#/components/schemas/${name}`,
      });
      const headers = post?.parameters?.map((parameter) => [parameter.in, parameter.name]);
      expect(headers).toEqual([
        ["header", "webhook-id"],
        ["header", "webhook-timestamp"],
        ["header", "webhook-signature"],
        ["header", "webhook-redelivery"],
      ]);
    }
  });

  it("have an example of their event type", () => {
    for (const [type, { post }] of Object.entries(webhooks)) {
      const media = post?.requestBody?.content["application/json"] as MediaType;
      expect(examplesOf(media)).toEqual([expect.objectContaining({ type })]);
    }
  });
});

type Json = Record<string, unknown>;

/** Calls `visit` with each object below `at` that is no example, and its path. */
function walk(node: unknown, visit: (node: Json, path: string) => void, path = ""): void {
  if (typeof node !== "object" || node === null) return;
  if (!Array.isArray(node)) visit(node as Json, path);
  for (const [name, value] of Object.entries(node))
    if (!["example", "examples"].includes(name)) walk(value, visit, `${path}/${name}`);
}

it("each list of codes in a response or event says that more may be added, and names those of today", () => {
  const found: string[] = [];
  const undescribed: string[] = [];
  walk({ schemas: apiDocument.components.schemas, webhooks: apiDocument.webhooks }, (schema, path) => {
    const { type, description = "", "x-extensible-enum": codes } = schema;
    if (!Array.isArray(codes)) return;
    found.push(path);
    const isText = [type].flat().includes("string") && !("enum" in schema);
    const text = description as string;
    const isComplete =
      text.includes("More may be added") && codes.every((code) => text.includes(`\`${code}\``));
    if (!isText || !isComplete) undescribed.push(path);
  });
  expect(undescribed).toEqual([]);
  expect(found.length).toBeGreaterThan(3);
});
