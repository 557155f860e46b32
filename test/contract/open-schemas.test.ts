/** Published schemas of responses and events are open, so that clients survive additions. The copy of the tests is closed. */
import { describe, expect, it } from "vitest";
import { operationsOf } from "../../src/api/rest/openapi/operations.ts";
import {
  apiDocument,
  contract,
  publishedViolations,
  resolveReference,
  schemaViolations,
  type MediaType,
  type Operation,
} from "../support/app/openapi-contract.ts";

type Json = Record<string, unknown>;

/** Calls `visit` with each object below `at` that is no example, and its path. */
function walk(node: unknown, visit: (node: Json, path: string) => void, path = ""): void {
  if (typeof node !== "object" || node === null) return;
  if (!Array.isArray(node)) visit(node as Json, path);
  for (const [name, value] of Object.entries(node))
    if (!["example", "examples"].includes(name)) walk(value, visit, `${path}/${name}`);
}

const examplesOf = ({ example, examples = {} }: MediaType): unknown[] => [
  ...(example === undefined ? [] : [example]),
  ...Object.values(examples).map(({ value }) => value),
];

/** The JSON of all responses and webhooks. */
const published = [
  ...operationsOf<Operation>(contract.paths).flatMap(({ method, path, operation: { responses } }) =>
    Object.entries(responses).map(([status, response]) => ({
      name: `${method} ${path} ${status}`,
      media: resolveReference(response).content?.["application/json"],
    })),
  ),
  ...operationsOf<Operation>(contract.webhooks).map(({ path, operation: { requestBody } }) => ({
    name: `webhook ${path}`,
    media: requestBody?.content["application/json"],
  })),
].flatMap(({ name, media }) => (media && "$ref" in media.schema ? [{ name, media }] : []));

/** Returns a copy of `value` for each object in it, with an additional member there, and the path of that object. */
function withMember(value: unknown, path = ""): { path: string; value: unknown }[] {
  if (Array.isArray(value))
    return value.flatMap((item: unknown, index) =>
      withMember(item, path).map((changed) => ({ ...changed, value: value.with(index, changed.value) })),
    );
  if (typeof value !== "object" || value === null) return [];
  const below = Object.entries(value).flatMap(([name, member]) =>
    withMember(member, `${path}/${name}`).map((changed) => ({
      ...changed,
      value: { ...value, [name]: changed.value },
    })),
  );
  return [{ path, value: { ...value, new_member: "added" } }, ...below];
}

describe("the document", () => {
  it("says of each list of codes in a response or event that more may be added, and names those of today", () => {
    const found: string[] = [];
    const undescribed: string[] = [];
    walk({ schemas: apiDocument.components.schemas, webhooks: apiDocument.webhooks }, (schema, path) => {
      const { type, description = "", "x-extensible-enum": codes } = schema;
      // Requests take the codes of today only.
      if (!Array.isArray(codes) || /^\/schemas\/(\w+Input|\w+Patch|Resume\w+|Replay\w+s)\//.test(path))
        return;
      found.push(path);
      const isText = [type].flat().includes("string") && !("enum" in schema);
      const text = description as string;
      const isDescribed =
        text.includes("More may be added") && codes.every((code) => text.includes(`\`${code}\``));
      if (!isText || !isDescribed) undescribed.push(path);
    });
    expect(undescribed).toEqual([]);
    expect(found.length).toBeGreaterThan(3);
  });
});

describe("a new member of an object", () => {
  /** Maps, and `details`, which has any form. */
  const OPEN = /\/(details|changes)$/;
  const cases = published.flatMap(({ name, media }) =>
    examplesOf(media).flatMap((example) =>
      withMember(example)
        .filter(({ path }) => !OPEN.test(path))
        .map(({ path, value }) => ({ name: `${name} ${path}`, schema: media.schema, value })),
    ),
  );

  it("matches each published schema", () => {
    const refused = cases.flatMap(({ name, schema, value }) =>
      publishedViolations(schema, value).map((violation) => `${name}: ${violation}`),
    );
    expect(refused).toEqual([]);
    expect(cases.length).toBeGreaterThan(200);
  });

  it("violates the tests' copy, in responses and in webhooks", () => {
    const accepted = cases.filter(({ schema, value }) => schemaViolations(schema, value).length === 0);
    expect(accepted.map(({ name }) => name)).toEqual([]);
    expect(cases.some(({ name }) => name.startsWith("webhook job.created "))).toBe(true);
    expect(cases.some(({ name }) => name.startsWith("webhook webhook.test "))).toBe(true);
  });
});

describe("a new code", () => {
  const references: string[] = [];
  walk(contract.components.schemas, (schema, path) => {
    if ("x-extensible-enum" in schema) references.push(`#/components/schemas${path}`);
  });

  it.each(references)("matches the published schema, and violates the tests' copy: %s", ($ref) => {
    const schema = { $ref };
    expect(publishedViolations(schema, "code_of_tomorrow")).toEqual([]);
    expect(schemaViolations(schema, "code_of_tomorrow")).toEqual([
      expect.stringContaining("must be equal to one of the allowed values"),
    ]);
  });
});
