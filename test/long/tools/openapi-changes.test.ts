/** The comparison of OpenAPI documents: each kind of breaking change and of addition, in a small document and in the real one. */
import { describe, expect, it } from "vitest";
import {
  listSchemaChanges,
  type Direction,
  type JsonSchema,
} from "../../../scripts/releases/json-schema-changes.ts";
import { listApiChanges, type ApiDocument } from "../../../scripts/releases/openapi-changes.ts";
import { currentSnapshot } from "../../../scripts/releases/snapshots.ts";

/** Values that tests change. */
// oxlint-disable-next-line typescript/no-explicit-any -- tests change any part of the document
type Json = any;

const small = (): Json => ({
  servers: [{ url: "/v1" }],
  paths: {
    "/jobs": {
      patch: {
        operationId: "updateJob",
        "x-required-scopes": ["jobs:write"],
        security: [{ key: [] }, { session: [] }],
        parameters: [
          { $ref: "#/components/parameters/Key" },
          { name: "sort", in: "query", schema: { type: "string" } },
        ],
        requestBody: { required: false, content: { "application/json": { schema: ref("Patch") } } },
        responses: {
          "200": {
            headers: { ETag: { required: true, schema: { type: "string" } } },
            content: { "application/json": { schema: ref("Job") } },
          },
          "404": {},
        },
      },
    },
  },
  webhooks: {
    "job.updated": {
      post: {
        operationId: "jobUpdated",
        parameters: [{ name: "webhook-id", in: "header", required: true, schema: { type: "string" } }],
        requestBody: { required: true, content: { "application/json": { schema: ref("Job") } } },
        responses: { "204": {} },
      },
    },
  },
  components: {
    parameters: { Key: { name: "Idempotency-Key", in: "header", schema: { type: "string" } } },
    schemas: {
      Patch: { type: "object", properties: { weight: { type: "number" } } },
      // It refers to itself.
      Job: {
        type: "object",
        required: ["status"],
        properties: { status: { type: "string", "x-extensible-enum": ["a", "b"] }, parent: ref("Job") },
      },
    },
  },
});
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });

interface Parts {
  document: Json;
  operation: Json;
  webhook: Json;
  patch: Json;
  job: Json;
}

/** Returns the breaking changes of the small document. */
function changesAfter(change: (parts: Parts) => unknown): string[] {
  const document = small();
  change({
    document,
    operation: document.paths["/jobs"].patch,
    webhook: document.webhooks["job.updated"].post,
    patch: document.components.schemas.Patch,
    job: document.components.schemas.Job,
  });
  return listApiChanges(small(), document);
}

const [JOBS, EVENT] = ["PATCH /jobs", "webhook job.updated"];

it.each<[string, (parts: Parts) => unknown]>([
  ["the path of the server URL changed from /v1 to /v2", ({ document }) => (document.servers[0].url = "/v2")],
  [`${JOBS} was removed`, ({ document }) => delete document.paths["/jobs"]],
  [`${EVENT} was removed`, ({ document }) => delete document.webhooks["job.updated"]],
  [
    `${JOBS} changed operationId from updateJob to patch`,
    ({ operation }) => (operation.operationId = "patch"),
  ],
  [`${JOBS} now requires the scope more`, ({ operation }) => operation["x-required-scopes"].push("more")],
  [`${JOBS} no longer accepts session`, ({ operation }) => operation.security.pop()],
  [`${JOBS}: query parameter sort was removed`, ({ operation }) => operation.parameters.pop()],
  [
    `${JOBS}: header parameter Idempotency-Key is now required`,
    ({ document }) => (document.components.parameters.Key.required = true),
  ],
  [
    `${JOBS}: header parameter x-reason is new and required`,
    ({ operation }) =>
      operation.parameters.push({ name: "x-reason", in: "header", required: true, schema: {} }),
  ],
  [
    `${JOBS}: query parameter sort changed type from string to number`,
    ({ operation }) => (operation.parameters[1].schema.type = "number"),
  ],
  [`${EVENT}: header parameter webhook-id was removed`, ({ webhook }) => webhook.parameters.pop()],
  [
    `${EVENT}: header parameter webhook-id may now be absent`,
    ({ webhook }) => (webhook.parameters[0].required = false),
  ],
  [`${JOBS}: body is now required`, ({ operation }) => (operation.requestBody.required = true)],
  [`${JOBS}: body was removed`, ({ operation }) => delete operation.requestBody],
  [
    `${JOBS}: body is no longer application/json`,
    ({ operation }) => (operation.requestBody.content = { "text/csv": {} }),
  ],
  [`${JOBS}: body.weight was removed`, ({ patch }) => delete patch.properties.weight],
  [`${JOBS}: body.weight is now required`, ({ patch }) => (patch.required = ["weight"])],
  [`${JOBS}: 404 was removed`, ({ operation }) => delete operation.responses["404"]],
  [`${JOBS}: 200 header ETag was removed`, ({ operation }) => delete operation.responses["200"].headers.ETag],
  [`${JOBS}: 200.status was removed`, ({ job }) => delete job.properties.status],
  [`${JOBS}: 200.status may now be absent`, ({ job }) => (job.required = [])],
  [`${EVENT}: body.status was removed`, ({ job }) => delete job.properties.status],
  [`${EVENT}: body.status lost the code a`, ({ job }) => job.properties.status["x-extensible-enum"].shift()],
])("the breaking change is named: %s", (sentence, change) => {
  expect(changesAfter(change)).toContain(sentence);
});

it("additions, deprecations and other texts pass", () => {
  const changes = changesAfter(({ document, operation, patch, job }) => {
    document.paths["/new"] = { get: {} };
    document.webhooks["job.new"] = { post: {} };
    operation.parameters.push({ name: "new", in: "query", schema: { type: "string" } });
    patch.properties.more = {};
    job.properties.more = { type: "string" };
    job.properties.status["x-extensible-enum"].push("c");
    operation.responses["418"] = { description: "New" };
    operation.responses["200"].headers.Link = { schema: { type: "string" } };
    operation.deprecated = true;
    operation.description = "Other";
  });
  expect(changes).toEqual([]);
});

it("names each operation and webhook that the real document would lose, and no change without one", () => {
  const released = currentSnapshot()["openapi.json"] as ApiDocument;
  const lost = [...Object.values(released.paths ?? {}), ...Object.values(released.webhooks ?? {})];
  const changes = listApiChanges(released, { ...released, paths: {}, webhooks: {} });
  expect(changes).toHaveLength(lost.flatMap((item) => Object.keys(item)).length);
  expect(listApiChanges(released, structuredClone(released))).toEqual([]);
});

describe("a change of a schema", () => {
  it.each<[string, Direction, JsonSchema, JsonSchema, string[]]>([
    [
      "a closed list loses a value",
      "request",
      { enum: ["a", "b"] },
      { enum: ["a"] },
      ["x no longer accepts b"],
    ],
    ["a closed list gets a value", "request", { enum: ["a"] }, { enum: ["a", "b"] }, []],
    ["a closed list gets a value", "response", { enum: ["a"] }, { enum: ["a", "b"] }, ["x may now be b"]],
    ["a closed list loses a value", "response", { enum: ["a", "b"] }, { enum: ["a"] }, []],
    ["a list becomes closed", "request", {}, { enum: ["a"] }, ["x no longer accepts values outside a"]],
    ["a list of codes becomes closed", "request", { "x-extensible-enum": ["a"] }, { enum: ["a"] }, []],
    [
      "a list of codes loses one",
      "request",
      { "x-extensible-enum": ["a", "b"] },
      { enum: ["a"] },
      ["x no longer accepts b"],
    ],
    ["a list becomes open", "response", { const: "a" }, {}, ["x may now be values outside a"]],
    [
      "null is refused",
      "request",
      { type: ["string", "null"] },
      { type: "string" },
      ["x changed type from string or null to string"],
    ],
    [
      "null is added",
      "response",
      { type: "string" },
      { type: ["string", "null"] },
      ["x changed type from string to string or null"],
    ],
    ["null is added", "request", { type: "string" }, { type: ["string", "null"] }, []],
    ["whole numbers become numbers", "request", { type: "integer" }, { type: "number" }, []],
    [
      "whole numbers become numbers",
      "response",
      { type: "integer" },
      { type: "number" },
      ["x changed type from integer to number"],
    ],
    ["a format is lost", "response", { format: "date" }, {}, ["x changed format from date to none"]],
    ["a format is added", "request", {}, { format: "date" }, ["x changed format from none to date"]],
    ["a minimum rises", "request", { minimum: 1 }, { minimum: 2 }, ["x changed minimum from 1 to 2"]],
    ["a maximum falls", "request", { maximum: 9 }, { maximum: 8 }, ["x changed maximum from 9 to 8"]],
    ["a maximum rises", "request", { maximum: 8 }, { maximum: 9 }, []],
    ["a pattern is added", "request", {}, { pattern: "^a" }, ['x changed pattern from none to "^a"']],
    ["a default changes", "request", { default: 10 }, { default: 20 }, ["x changed default from 10 to 20"]],
    [
      "other members are refused",
      "request",
      {},
      { additionalProperties: false },
      ["x no longer allows other members"],
    ],
    [
      "an item changes",
      "response",
      { items: { type: "string" } },
      { items: { type: "null" } },
      ["x[] changed type from string to null"],
    ],
    [
      "an alternative is lost",
      "request",
      { oneOf: [{ type: "string" }, { type: "null" }] },
      { oneOf: [{ type: "null" }] },
      ["x no longer accepts one of its alternatives"],
    ],
    [
      "an alternative is added",
      "response",
      { oneOf: [{ type: "null" }] },
      { oneOf: [{ type: "string" }, { type: "null" }] },
      ["x has a new alternative"],
    ],
    [
      "allOf is written out",
      "request",
      { allOf: [{ properties: { a: {} } }] },
      { properties: { a: {} } },
      [],
    ],
  ])("%s in a %s", (...[, direction, before, after, expected]) => {
    const changes = listSchemaChanges(
      { schema: before, resolve: () => before },
      { schema: after, resolve: () => after },
      { direction, name: "x" },
    );
    expect(changes).toEqual(expected);
  });
});
