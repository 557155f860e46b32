import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, it } from "vitest";
import type { ErrorCode } from "../../src/platform/errors.ts";
import { exampleRequestId } from "../../src/http/v1/openapi.examples.ts";
import { createOpenApiDocument } from "../../src/http/v1/openapi.ts";
import {
  breaches,
  contract,
  holdAgainstContract,
  resolve,
  type MediaType,
  type Operation,
  type Parameter,
} from "../support/contract.ts";
import { routesOfTheApp } from "../support/express-routes.ts";

const { components, paths, webhooks } = contract;

interface Named {
  /** `GET /v1/jobs` */
  name: string;
  operation: Operation;
}

function operationsOf(items: typeof paths): Named[] {
  return Object.entries(items).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      name: `${method.toUpperCase()} ${path}`,
      operation,
    })),
  );
}

const operations = operationsOf(paths);
const all = [...operations, ...operationsOf(webhooks)];
const v1 = operations.filter(({ name }) => name.includes(" /v1/"));

const mediaOf = (content: Record<string, MediaType> = {}): MediaType[] => Object.values(content);
const examplesOf = ({ example, examples = {} }: MediaType): unknown[] => [
  ...(example === undefined ? [] : [example]),
  ...Object.values(examples).map(({ value }) => value),
];
const statusesOf = ({ responses }: Operation): string[] => Object.keys(responses);

/** The names of those that lack something. */
const lacking = (has: (operation: Operation, name: string) => boolean, among = all): string[] =>
  among.filter(({ name, operation }) => !has(operation, name)).map(({ name }) => name);

function isTold({ description, schema: { examples = [] } }: Parameter): boolean {
  return /\w/.test(description) && examples.length > 0;
}

function withExamples({ requestBody, responses }: Operation, name: string): boolean {
  return [requestBody, ...Object.values(responses).map((response) => resolve(response))]
    .flatMap((body) => body?.content?.["application/json"] ?? [])
    .every((media) => examplesOf(media).length > 0 || name === "GET /openapi.json");
}

function withId({ responses }: Operation): boolean {
  return Object.values(responses).every((response) => "X-Request-Id" in (resolve(response).headers ?? {}));
}

function breachesOfExamples(schema: { examples?: unknown[] }): string[] {
  return (schema.examples ?? []).flatMap((example) => breaches(schema, example));
}

/** The contract's Job object: each member in its order, with what the document must say of it. */
const text = (maxLength: number) => ({ type: ["string", "null"], maxLength });
const date = { type: ["string", "null"], format: "date" };
const number = { type: ["number", "null"] };
const contractJob: Record<string, object> = {
  id: { type: "string", readOnly: true },
  marking_number: { type: "string", maxLength: 120, readOnly: true },
  batch_number: text(120),
  group_code: text(120),
  piece_quantity: { type: ["integer", "null"], minimum: 1 },
  labels: text(255),
  pts: number,
  weight: number,
  recipient_name: text(255),
  recipient_contact: text(255),
  delivery_address: text(1000),
  postal_code: text(60),
  scheduled_date: date,
  instructions: text(1000),
  normalized_status: { type: "string" },
  failure_reason: text(64),
  scheduled_delivery_date: date,
  scheduled_delivery_pending: { type: "boolean" },
  provider_status: { type: ["string", "null"], readOnly: true },
  created_at: { type: "string", format: "date-time", readOnly: true },
  updated_at: { type: "string", format: "date-time", readOnly: true },
};
const readOnly = new Set(["id", "marking_number", "provider_status", "created_at", "updated_at"]);

describe("the OpenAPI document", () => {
  it("is valid OpenAPI 3.1", async () => {
    const validator = new Validator();
    expect(await validator.validate({ ...structuredClone(contract) })).toMatchObject({ valid: true });
    expect(validator.version).toBe("3.1");
  });

  it("holds schemas that JSON Schema 2020-12 accepts, with no unknown keyword or format", () => {
    for (const schema of Object.values(components.schemas))
      expect(() => breaches(schema, null)).not.toThrow();
    expect(Object.keys(components.schemas).length).toBeGreaterThan(30);
  });

  it("has every route of the app, and the app every operation of it", async () => {
    const described = operations.map(({ name }) => name);
    expect(described.toSorted()).toEqual((await routesOfTheApp()).toSorted());
  });

  it("names the service's public address as its server, or whichever server answers with it", () => {
    expect(contract.servers).toEqual([{ url: "/" }]);
    expect(createOpenApiDocument("https://api.example.com/open").servers).toEqual([
      { url: "https://api.example.com/open" },
    ]);
  });

  it("tells how v1 changes and how something is taken away", () => {
    expect(contract.info.description).toMatch(
      /changes only by addition[^]*Deprecation[^]*Sunset[^]*12 months/,
    );
  });
});

describe("every operation", () => {
  it("has an operationId of its own, a summary, a description and a known tag", () => {
    const known = new Set(contract.tags.map(({ name }) => name));
    expect(lacking(({ summary, description }) => summary !== "" && description !== "")).toEqual([]);
    expect(lacking(({ tags }) => tags.length === 1 && tags.every((tag) => known.has(tag)))).toEqual([]);
    expect(new Set(all.map(({ operation }) => operation.operationId)).size).toBe(all.length);
  });

  it("has a description and an example for every parameter", () => {
    expect(lacking(({ parameters = [] }) => parameters.every(isTold))).toEqual([]);
  });

  it("has an example for every body that it takes or answers with in JSON", () => {
    expect(lacking(withExamples)).toEqual([]);
  });

  it("takes the key in either header, with the scope that it needs, under /v1 and nowhere else", () => {
    const security = Object.fromEntries(operations.map(({ name, operation }) => [name, operation.security]));
    const expected = operations.map(({ name }) => {
      const scope = name.startsWith("PATCH") ? "jobs:write" : "jobs:read";
      return [name, name.includes(" /v1/") ? [{ ApiKey: [scope] }, { Bearer: [scope] }] : []];
    });
    expect(security).toEqual(Object.fromEntries(expected));
    expect(components.securitySchemes).toMatchObject({
      ApiKey: { type: "apiKey", in: "header", name: "x-api-key" },
      Bearer: { type: "http", scheme: "bearer" },
    });
  });

  it("has X-Request-Id on every answer", () => {
    expect(lacking(withId, operations)).toEqual([]);
  });
});

describe("every example", () => {
  it("of a body fits its schema", () => {
    const own = all.flatMap(({ operation: { requestBody, responses } }) => [
      ...mediaOf(requestBody?.content),
      ...Object.values(responses).flatMap((response) => mediaOf(resolve(response).content)),
    ]);
    const shared = Object.values(components.responses).flatMap(({ content }) => mediaOf(content));
    const found = [...own, ...shared].flatMap((media) =>
      examplesOf(media).flatMap((example) => breaches(media.schema, example)),
    );
    expect(found).toEqual([]);
  });

  it("of a parameter or header fits its schema", () => {
    const parameters = all.flatMap(({ operation }) => operation.parameters ?? []);
    expect(parameters.flatMap(({ schema }) => breachesOfExamples(schema))).toEqual([]);
    const headers = Object.values(components.headers);
    expect(headers.flatMap(({ schema, example }) => breaches(schema, example))).toEqual([]);
  });

  it("inside a schema fits that schema", () => {
    const members = Object.values(components.schemas).flatMap(({ properties = {} }) =>
      Object.values(properties),
    );
    expect(members.flatMap(breachesOfExamples)).toEqual([]);
  });
});

describe("the contract's tables", () => {
  it("give the Job its 21 members, in their order, with their types and bounds", () => {
    const { properties = {}, required, ...rest } = components.schemas["Job"] ?? {};
    expect(Object.keys(properties)).toEqual(Object.keys(contractJob));
    expect(required).toEqual(Object.keys(contractJob));
    expect(properties).toMatchObject(contractJob);
    expect(rest).toMatchObject({ additionalProperties: false });
    expect(Object.keys(properties)).toHaveLength(21);
  });

  it("let the 16 editable fields be patched, none required, and no other", () => {
    const editable = Object.keys(contractJob).filter((name) => !readOnly.has(name));
    const { JobPatch, BatchItem, BatchUpdate } = components.schemas;
    expect(Object.keys(JobPatch?.properties ?? {})).toEqual(editable);
    expect(JobPatch).not.toHaveProperty("required");
    expect(JobPatch).toMatchObject({ minProperties: 1 });
    expect(Object.keys(BatchItem?.properties ?? {})).toEqual(["marking_number", ...editable]);
    expect(BatchItem?.required).toEqual(["marking_number"]);
    expect(BatchUpdate?.properties?.["jobs"]).toMatchObject({ minItems: 1, maxItems: 100 });
    for (const name of editable)
      expect(JobPatch?.properties?.[name]).toMatchObject(contractJob[name] as object);
  });

  it("give the list its parameters, page 1 of 10 items without them, and 100 items at most", () => {
    const parameters = paths["/v1/jobs"]?.get?.parameters ?? [];
    const named = Object.fromEntries(parameters.map((parameter) => [parameter.name, parameter]));
    expect(Object.keys(named)).toEqual(
      expect.arrayContaining([
        "marking_number",
        "batch_number",
        "normalized_status",
        "updated_at_from",
        "updated_at_to",
        "scheduled_date_from",
        "scheduled_date_to",
        "page",
        "page_size",
      ]),
    );
    expect(parameters.every(({ required }) => !required)).toBe(true);
    expect(named["page"]?.schema).toMatchObject({ type: "integer", minimum: 1, default: 1 });
    expect(named["page_size"]?.schema).toMatchObject({
      type: "integer",
      minimum: 1,
      maximum: 100,
      default: 10,
    });
    expect(named["scheduled_date_from"]?.schema).toMatchObject({ type: "string", format: "date" });
    expect(named["marking_number"]?.schema).toMatchObject({ type: "string", maxLength: 120 });
  });

  it("give the batch's result its members", () => {
    const { BatchResult, UpdatedItem, FailedItem } = components.schemas;
    expect(Object.keys(BatchResult?.properties ?? {})).toEqual(["updated_count", "failed_count", "results"]);
    expect(Object.keys(UpdatedItem?.properties ?? {})).toEqual(["marking_number", "success", "job"]);
    expect(Object.keys(FailedItem?.properties ?? {}).slice(0, 3)).toEqual([
      "marking_number",
      "success",
      "error",
    ]);
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
    PreconditionFailedException: 412,
    PayloadTooLargeException: 413,
    UnsupportedMediaTypeException: 415,
    UnprocessableEntityException: 422,
    TooManyRequestsException: 429,
    InternalServerErrorException: 500,
    ServiceUnavailableException: 503,
  };
  const failures = v1.flatMap(({ name, operation }) =>
    Object.entries(operation.responses)
      .filter(([status]) => status !== "200")
      .map(([status, response]) => ({
        name: `${name} ${status}`,
        status: Number(status),
        response: resolve(response),
      })),
  );

  it("gives each status its code, wherever it is answered", () => {
    const codes = failures.map(({ name, status, response }) => {
      const schema = response.content?.["application/json"]?.schema as { $ref: string } | undefined;
      const code = schema?.$ref.replace("#/components/schemas/", "") as ErrorCode;
      return table[code] === status ? null : `${name}: ${code}`;
    });
    expect(codes.filter((wrong) => wrong !== null)).toEqual([]);
  });

  it("stands whole in the document: 405 beside the operations, every other status with one", () => {
    const answered = new Set([405, ...failures.map(({ status }) => status)]);
    expect(answered).toEqual(new Set(Object.values(table)));
    expect(Object.keys(components.responses).map((name) => `${name}Exception`)).toEqual(Object.keys(table));
    expect(resolve(components.responses["MethodNotAllowed"]!).headers).toHaveProperty("Allow");
  });

  it("tells for each operation which statuses it answers with", () => {
    const common = [401, 403, 429, 500, 503];
    const body = [409, 413, 415, 422];
    const expected: Record<string, number[]> = {
      "GET /v1/jobs": [400],
      "PATCH /v1/jobs/batch": [400, ...body],
      "GET /v1/jobs/by-marking/{markingNumber}": [400, 404],
      "PATCH /v1/jobs/by-marking/{markingNumber}": [400, 404, 412, ...body],
      "GET /v1/jobs/by-marking/{markingNumber}/history": [400, 404],
      "GET /v1/events": [400],
      "GET /v1/reference/statuses": [],
      "GET /v1/reference/failure-reasons": [],
    };
    const declared = v1.map(({ name, operation }) => [name, new Set(statusesOf(operation).map(Number))]);
    const wanted = Object.entries(expected).map(([name, own]) => [name, new Set([200, ...own, ...common])]);
    expect(Object.fromEntries(declared)).toEqual(Object.fromEntries(wanted));
  });

  it("gives 401, 405, 429 and 503 the headers that belong to them, never missing", () => {
    const { Unauthorized, MethodNotAllowed, TooManyRequests, ServiceUnavailable } = components.responses;
    const required = (response: typeof Unauthorized): string[] =>
      Object.entries(response?.headers ?? {}).flatMap(([name, header]) =>
        resolve(header).required ? name : [],
      );
    expect(required(Unauthorized)).toContain("WWW-Authenticate");
    expect(required(MethodNotAllowed)).toContain("Allow");
    expect(required(TooManyRequests)).toEqual(
      expect.arrayContaining(["Retry-After", "RateLimit", "RateLimit-Policy", "X-RateLimit-Remaining"]),
    );
    expect(required(ServiceUnavailable)).toContain("Retry-After");
  });
});

describe("the webhooks", () => {
  it("are the four events of jobs, with the feed's body and the headers of Standard Webhooks", () => {
    expect(Object.keys(webhooks)).toEqual([
      "job.created",
      "job.updated",
      "job.status_changed",
      "job.assigned",
    ]);
    for (const { post } of Object.values(webhooks)) {
      expect(post?.requestBody?.content["application/json"]?.schema).toEqual({
        $ref: "#/components/schemas/Event",
      });
      const headers = post?.parameters?.map((parameter) => [parameter.in, parameter.name]);
      expect(headers).toEqual([
        ["header", "webhook-id"],
        ["header", "webhook-timestamp"],
        ["header", "webhook-signature"],
      ]);
    }
  });

  it("have an example of their own type", () => {
    for (const [type, { post }] of Object.entries(webhooks)) {
      const media = post?.requestBody?.content["application/json"] as MediaType;
      expect(examplesOf(media)).toEqual([expect.objectContaining({ type })]);
    }
  });
});

describe("an answer held against the document", () => {
  const headers = { "content-type": "application/json; charset=utf-8", "x-request-id": exampleRequestId };
  const right = {
    path: "/v1/reference/statuses",
    status: 200,
    headers,
    body: { request_id: exampleRequestId, success: true, data: { items: [] as object[] }, error: null },
  };
  const hold = ({ path, status, body, headers: given }: typeof right): void =>
    holdAgainstContract("GET", path, { status, headers: new Headers(given), body });

  it("passes where all is as declared", () => {
    expect(() => hold(right)).not.toThrow();
    expect(() => hold({ ...right, path: "/beside/v1", status: 302 })).not.toThrow();
  });

  it.each([
    ["another status", { ...right, status: 201 }],
    ["a body of another status", { ...right, status: 401 }],
    ["a member too many in the envelope", { ...right, body: { ...right.body, meta: 1 } }],
    ["a member too few in the data", { ...right, body: { ...right.body, data: { items: [{ code: "x" }] } } }],
    ["another content type", { ...right, headers: { ...headers, "content-type": "text/html" } }],
    ["a missing header", { ...right, headers: { ...headers, "x-request-id": undefined } }],
    ["a header that is none of this answer's", { ...right, headers: { ...headers, etag: '"1"' } }],
    ["a success of a path that is not declared", { ...right, path: "/v1/nothing" }],
  ])("is refused for %s", (_, { headers: given, ...wrong }) => {
    const present = Object.entries(given).filter(([, value]) => value !== undefined);
    expect(() => hold({ ...wrong, headers: Object.fromEntries(present) } as typeof right)).toThrow(
      /not as the OpenAPI document says/,
    );
  });
});
