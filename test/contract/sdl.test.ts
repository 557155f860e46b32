/** The SDL matches the job fields of the code and has descriptions everywhere. */
import { readFile } from "node:fs/promises";
import {
  buildSchema,
  getNamedType,
  graphql,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLNamedType,
} from "graphql";
import { describe, expect, it } from "vitest";
import { generateResolverTypes } from "../../scripts/generate-graphql-types.ts";
import { listSdlChanges } from "../../scripts/releases/snapshots.ts";
import { eventTypes } from "../../src/events/entity.ts";
import { createSchema } from "../../src/api/graphql/schema.ts";
import { readSdl } from "../../src/api/graphql/sdl.ts";
import { jobFieldNames, jobFields, type JobFieldName } from "../../src/jobs/fields.ts";

const schema = buildSchema(readSdl());

interface ScalarDescription {
  kind: string;
  name: string;
  description: string | null;
  specifiedByURL: string | null;
}

const camelCase = (name: string) => name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase());

/** The GraphQL type for each kind in `jobs/fields.ts`. */
const scalarOf = { text: "String", integer: "Int", number: "Float", date: "LocalDate", boolean: "Boolean" };
const isNullable = (name: JobFieldName) => jobFields[name].value.safeParse(null).success;

/** Returns the types of the fields by name. */
function typesIn(type: string): Record<string, string> {
  const named = schema.getType(type);
  if (!isObjectType(named) && !isInputObjectType(named)) throw new Error(`${type} has no fields`);
  return Object.fromEntries(
    Object.values(named.getFields()).map((field) => [field.name, String(field.type)]),
  );
}

describe("the 16 editable fields", () => {
  it("are exactly those of JobPatch, all optional", () => {
    const expected = jobFieldNames.map((name) => [camelCase(name), scalarOf[jobFields[name].kind]]);
    expect(typesIn("JobPatch")).toEqual(Object.fromEntries(expected));
  });

  it("have the same types in Job, non-null if the service never returns null", () => {
    const expected = jobFieldNames.map((name) => {
      const type = scalarOf[jobFields[name].kind];
      return [camelCase(name), isNullable(name) ? type : `${type}!`];
    });
    expect(typesIn("Job")).toMatchObject(Object.fromEntries(expected));
  });
});

describe("the SDL", () => {
  it("has the event types of the code", () => {
    const named = schema.getType("JobEventType");
    const names = isEnumType(named) ? named.getValues().map(({ name }) => name) : [];
    expect(names).toEqual(eventTypes.map((type) => type.replace(".", "_").toUpperCase()));
  });
});

const fieldsOf = (type: GraphQLNamedType) =>
  isObjectType(type) || isInterfaceType(type) || isInputObjectType(type)
    ? Object.values(type.getFields())
    : [];

const argumentsOf = (field: GraphQLField<unknown, unknown> | GraphQLInputField) =>
  "args" in field ? field.args : [];

describe("descriptions", () => {
  const types = Object.values(schema.getTypeMap()).filter(
    ({ name, astNode }) => astNode && !name.startsWith("__"),
  );

  it("exist for every type, enum value, field and argument", () => {
    const parts = types.flatMap((type) => [
      { name: type.name, description: type.description },
      ...(isEnumType(type) ? type.getValues() : fieldsOf(type)).map(({ name, description }) => ({
        name: `${type.name}.${name}`,
        description,
      })),
      ...fieldsOf(type).flatMap((field) =>
        argumentsOf(field).map(({ name, description }) => ({
          name: `${type.name}.${field.name}(${name})`,
          description,
        })),
      ),
    ]);
    expect(parts.length).toBeGreaterThan(500);
    expect(parts.filter(({ description }) => !description).map(({ name }) => name)).toEqual([]);
  });

  it("of scalars exist at run time too, with the URL of their specification", async () => {
    const query = "{ found: __schema { types { kind name description specifiedByURL } } }";
    const result = await graphql({ schema: createSchema(), source: query });
    const { types: found } = (result.data as { found: { types: ScalarDescription[] } }).found;
    const own = found.filter(({ kind, name }) => kind === "SCALAR" && schema.getType(name)?.astNode);
    expect(own.map(({ name }) => name).toSorted()).toEqual(["DateTime", "JSON", "LocalDate"]);
    for (const { name, description, specifiedByURL } of own) {
      expect(description).toBe(schema.getType(name)?.description);
      expect(specifiedByURL).toMatch(/^https:\/\//);
    }
  });

  it("say of every connection except `jobs` that it is forward only", () => {
    const connections = types.flatMap((type) =>
      isObjectType(type)
        ? Object.values(type.getFields()).filter((field) => /Connection\b/.test(String(field.type)))
        : [],
    );
    expect(connections.length).toBeGreaterThan(8);
    for (const { args, type } of connections) {
      const isBoth = args.some(({ name }) => name === "last");
      expect(String(type) === "JobConnection").toBe(isBoth);
      const { description } = getNamedType(type);
      expect(description?.includes("Forward only")).toBe(!isBoth);
    }
  });
});

it("the comparison with a release reports changes that break queries, and allows additions", () => {
  const released = "type Query { jobs(first: Int): [String!]! status: String! }";
  const present = "type Query { jobs(first: Int!): [String!] status: String! events: [String] }";
  expect(listSdlChanges(released, present)).toEqual([
    "ARG_CHANGED_KIND: Query.jobs arg first has changed type from Int to Int!.",
    "FIELD_CHANGED_KIND: Query.jobs changed type from [String!]! to [String!].",
  ]);
  expect(listSdlChanges(released, `${released} type More { a: Int }`)).toEqual([]);
});

it("the resolver types are up to date with the SDL (npm run codegen)", async () => {
  const path = new URL("../../src/api/graphql/generated/schema-types.ts", import.meta.url);
  expect(await generateResolverTypes()).toBe(await readFile(path, "utf8"));
});
