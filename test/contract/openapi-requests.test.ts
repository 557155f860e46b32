/** The server refuses each request that the document refuses. The tests make the requests from its examples and schemas. */
import { beforeAll, describe, expect, it } from "vitest";
import { scopes } from "../../src/api-keys/api.ts";
import { operationsOf } from "../../src/api/rest/openapi/operations.ts";
import type { TestOrganization } from "../support/app/app.fixture.ts";
import { documentedRequests, type DocumentedRequest } from "../support/app/documented-requests.ts";
import {
  apiDocument,
  publishedViolations,
  resolveReference,
  type Operation,
} from "../support/app/openapi-contract.ts";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";

interface Schema {
  type?: string | string[];
  enum?: unknown[];
  items?: Schema;
  minItems?: number;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  pattern?: string;
  format?: string;
  properties?: Record<string, Schema>;
  required?: string[];
}

interface Wrong {
  /** The fault and the name of its member or parameter. */
  kind: string;
  field: string;
  schema: object;
  /** Violates `schema`. */
  value: unknown;
  send: DocumentedRequest;
}

const UNKNOWN = "no_such_code";

/** Returns values that the schema refuses, by what is wrong with them. */
function wrongValues(schema: Schema): [kind: string, value: unknown][] {
  const { minimum, maximum, maxLength, minItems, pattern, format } = schema;
  const closed = schema.enum ?? schema.items?.enum;
  const wrapped = (value: unknown) => (schema.items ? [value] : value);
  return [
    ["another type", { other: true }],
    ...(closed ? [["an unknown code", wrapped(UNKNOWN)] as [string, unknown]] : []),
    ...(minimum === undefined ? [] : [["too small", minimum - 1] as [string, unknown]]),
    ...(maximum === undefined ? [] : [["too big", maximum + 1] as [string, unknown]]),
    ...(maxLength === undefined ? [] : [["too long", "x".repeat(maxLength + 1)] as [string, unknown]]),
    ...(minItems === undefined ? [] : [["too few", []] as [string, unknown]]),
    ...(pattern === undefined && format === undefined ? [] : [["malformed", "?"] as [string, unknown]]),
  ];
}

function wrongBodies(request: DocumentedRequest, operation: Operation): Wrong[] {
  const reference = operation.requestBody?.content["application/json"]?.schema;
  if (!reference) return [];
  const { properties = {}, required = [] } = resolveReference(reference) as Schema;
  const right = JSON.parse(request.body ?? "") as Record<string, unknown>;
  const wrong = (kind: string, field: string, body: object): Wrong => ({
    kind: `${kind}: ${field}`,
    field,
    schema: reference,
    value: body,
    send: { ...request, body: JSON.stringify(body) },
  });
  return [
    ...required.map((name) => {
      const { [name]: _left, ...body } = right;
      return wrong("absent", name, body);
    }),
    ...Object.entries(properties).flatMap(([name, schema]) =>
      // An object without members takes any.
      wrongValues(schema)
        .filter(([kind]) => schema.type !== "object" || kind !== "another type")
        .map(([kind, value]) => wrong(kind, name, { ...right, [name]: value })),
    ),
  ];
}

function wrongParameters(request: DocumentedRequest, { parameters = [] }: Operation): Wrong[] {
  const closed = parameters.flatMap(({ in: place, name, schema }) => {
    const list: Schema = schema;
    const one = list.items ?? list;
    return one.enum ? [{ place, name, schema: one }] : [];
  });
  return closed.map(({ place, name, schema }) => ({
    kind: `an unknown code: ${name}`,
    field: name,
    schema,
    value: UNKNOWN,
    send: {
      ...request,
      path:
        place === "path"
          ? request.path.replace(/[^/]+$/, UNKNOWN)
          : `${request.path}${request.path.includes("?") ? "&" : "?"}${name}=${UNKNOWN}`,
    },
  }));
}

const operations = operationsOf<Operation>(apiDocument.paths);
const cases = documentedRequests.flatMap((request, index) => {
  const { operation } = operations[index]!;
  return [...wrongBodies(request, operation), ...wrongParameters(request, operation)].map(
    (wrong) => [`${request.name} ${wrong.kind}`, wrong] as const,
  );
});

let app: SharedApp;
let agent: TestOrganization;
let testKey: string;
/** The service checks the settings of an endpoint that exists. */
let endpointId: string;
beforeAll(async () => {
  app = await sharedApp("api");
  agent = await app.createOrganization("agent", { scopes });
  testKey = await app.createKey(agent.id, { scopes, testSide: "agent" });
  const body = JSON.stringify({ url: "https://127.0.0.1/webhooks" });
  const created = await app.call("/v1/webhook-endpoints", { method: "POST", key: agent.key, body });
  endpointId = (created.body.data as { endpoint: { id: string } }).endpoint.id;
});

/** Returns the status, and the members and parameters that are wrong. */
async function refusalOf({ method, path, body }: DocumentedRequest) {
  const key = path.startsWith("/v1/test/") ? testKey : agent.key;
  const url = path.replace(/whe_\w+/, endpointId);
  const { status, body: envelope } = await app.call(url, { method, key, ...(body !== null && { body }) });
  const problems = (envelope.error?.details ?? []) as { field: string }[];
  return { status, fields: problems.map(({ field }) => field.replace(/\W.*/, "")) };
}

describe("a request that the document refuses", () => {
  it.each(cases)("returns 400 with the field: %s", async (_name, { field, schema, value, send }) => {
    expect(publishedViolations(schema, value)).not.toEqual([]);
    const { status, fields } = await refusalOf(send);
    expect(status).toBe(400);
    expect(fields).toContain(field);
  });

  it.each(documentedRequests.filter(({ body }) => body !== null).map((each) => [each.name, each] as const))(
    "returns 400 for an unknown member only if the document refuses it: %s",
    async (name, request) => {
      const { operation } = operations.find(({ method, path }) => `${method} /v1${path}` === name)!;
      const value: unknown = { ...JSON.parse(request.body ?? ""), no_such_member: 1 };
      const { fields } = await refusalOf({ ...request, body: JSON.stringify(value) });
      const { schema } = operation.requestBody!.content["application/json"]!;
      const isRefused = publishedViolations(schema, value).length > 0;
      expect(fields.includes("no_such_member")).toBe(isRefused);
      // The contract ignores unknown fields of jobs.
      expect(isRefused).toBe(!name.startsWith("PATCH /v1/jobs/"));
    },
  );

  it("covers each operation with a body or a closed list", () => {
    const names = new Set(cases.map(([, { send }]) => send.name));
    expect(names.size).toBeGreaterThan(15);
  });
});
