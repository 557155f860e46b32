/** What every declared operation has in common: REST and GraphQL apply its scopes, its recent sign-in and its input. */
import {
  buildSchema,
  getNamedType,
  type GraphQLField,
  type GraphQLInputType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
} from "graphql";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readSdl } from "../../src/api/graphql/sdl.ts";
import { scopes as allScopes, type Scope } from "../../src/api-keys/api.ts";
import { snakeCase } from "../../src/core/names.ts";
import { operations } from "../../src/operations/all.ts";
import { createSignedInUser } from "../support/accounts/signed-in-user.ts";
import { startTestApp, type TestApp, type TestOrganization } from "../support/app/app.fixture.ts";
import type { ApiResponse } from "../support/app/app-instance.ts";
import { createFakeClock, type FakeClock, MINUTE_MS } from "../support/fake-clock.ts";
import { graphql } from "../support/graphql/client.ts";

type AnyOperation = (typeof operations)[number];

let app: TestApp;
let clock: FakeClock;
let agent: TestOrganization;

beforeAll(async () => {
  clock = createFakeClock();
  app = await startTestApp({ RATE_LIMITS: "off" }, { clock });
  agent = await app.createOrganization("agent");
});
afterAll(() => app[Symbol.asyncDispose]());

/** Returns a key of the mode that the operation needs. */
async function keyFor({ access }: AnyOperation, scopes: readonly Scope[] = allScopes): Promise<string> {
  const settings = { organizationId: agent.id, name: "test", scopes: [...scopes], createdBy: "test" };
  return (await app.keys.create({ ...settings, ...(access.mode && { testSide: "agent" as const }) })).text;
}

const mutations = buildSchema(readSdl()).getMutationType()!.getFields();

/** The operations that have a mutation. */
const mutating = operations.flatMap((operation) => {
  const field = mutations[operation.graphql?.field ?? operation.name];
  return field && operation.graphql !== null ? [{ name: operation.name, operation, field }] : [];
});

/** A value of the type, for a mutation that is refused before its arguments are checked. */
function literalOf(type: GraphQLInputType): string {
  if (isNonNullType(type)) return literalOf(type.ofType);
  if (isListType(type)) return `[${literalOf(type.ofType)}]`;
  if (isEnumType(type)) return type.getValues()[0]!.name;
  if (isInputObjectType(type)) {
    const required = Object.values(type.getFields()).filter((field) => isNonNullType(field.type));
    return `{ ${required.map((field) => `${field.name}: ${literalOf(field.type)}`).join(", ")} }`;
  }
  return type.name === "Int" ? "1" : '"unknown"';
}

function documentOf({ name, args }: GraphQLField<unknown, unknown>): string {
  const required = args.filter((arg) => isNonNullType(arg.type) && arg.defaultValue === undefined);
  const list = required.map((arg) => `${arg.name}: ${literalOf(arg.type)}`).join(", ");
  return `mutation { ${name}${list === "" ? "" : `(${list})`} { userErrors { code } } }`;
}

function request({ rest }: AnyOperation, key: string, body?: object): Promise<ApiResponse> {
  const path = `/v1${rest.path.replaceAll(/\{\w+\}/g, "unknown")}`;
  return app.call(path, { method: rest.method.toUpperCase(), key, body: body && JSON.stringify(body) });
}

const scoped = operations.flatMap((operation) =>
  operation.access.scopes.map((scope) => ({ name: operation.name, scope, operation })),
);

describe("the scopes of an operation", () => {
  it.each(scoped)("$name needs $scope in REST", async ({ scope, operation }) => {
    const key = await keyFor(
      operation,
      allScopes.filter((other) => other !== scope),
    );
    const { status, body } = await request(operation, key);
    expect(status).toBe(403);
    expect(body.error).toMatchObject({ message: `The API key lacks the scope ${scope}` });
  });

  it.each(mutating.flatMap((entry) => entry.operation.access.scopes.map((scope) => ({ ...entry, scope }))))(
    "$name needs $scope in GraphQL",
    async ({ scope, operation, field }) => {
      const key = await keyFor(
        operation,
        allScopes.filter((other) => other !== scope),
      );
      const { errors } = await graphql(app, documentOf(field), { key });
      expect(errors?.map(({ message }) => message)).toEqual([`The API key lacks the scope ${scope}`]);
    },
  );
});

it("moving an endpoint needs jobs:read in addition, and other changes of it do not", async () => {
  const operation = operations.find(({ name }) => name === "updateWebhookEndpoint")!;
  const key = await keyFor(operation, ["webhooks:manage"]);
  const url = "https://partner.example/";
  expect((await request(operation, key, { url })).status).toBe(403);
  expect((await request(operation, key, { description: "" })).status).toBe(404);
  const update = async (patch: string) => {
    const document = `mutation { updateWebhookEndpoint(id: "unknown", patch: ${patch}) { userErrors { code } } }`;
    return await graphql(app, document, { key });
  };
  expect((await update(`{ url: "${url}" }`)).errors).toMatchObject([{ extensions: { code: "FORBIDDEN" } }]);
  expect((await update('{ description: "" }')).errors).toBeUndefined();
});

describe("a session without a recent sign-in", () => {
  const refusalOf = async ({ field }: (typeof mutating)[number]) => {
    const owner = await createSignedInUser(app, agent.id);
    clock.advance(11 * MINUTE_MS);
    const { errors = [] } = await owner.graphql(documentOf(field));
    return errors.map(({ extensions }) => extensions.code);
  };

  it.each(mutating.filter(({ operation }) => operation.fresh === true))(
    "is refused by $name",
    async (entry) => {
      expect(await refusalOf(entry)).toEqual(["REAUTHENTICATION_REQUIRED"]);
    },
  );

  it.each(mutating.filter(({ operation }) => operation.fresh === false))(
    "is not refused by $name",
    async (entry) => {
      expect(await refusalOf(entry)).toEqual([]);
    },
  );
});

it.each(mutating.filter(({ operation }) => operation.access.mode === "test"))(
  "$name exists for test keys only",
  async ({ operation, field }) => {
    const { text: key } = await app.keys.create({
      organizationId: agent.id,
      name: "live",
      createdBy: "test",
    });
    const { status, body } = await request(operation, key, {});
    expect([status, body.error?.message]).toEqual([404, "There is no such route"]);
    const { data } = await graphql(app, documentOf(field), { key });
    expect(data).toEqual({ [field.name]: { userErrors: [{ code: "NOT_FOUND" }] } });
  },
);

describe("the input of an operation", () => {
  const strict = operations.filter(({ text, rest }) => text.body && !rest.places);
  it.each(strict.map((operation) => ({ name: operation.name, operation })))(
    "$name rejects a member that it does not have, in REST",
    async ({ operation }) => {
      const { body } = await request(operation, await keyFor(operation), { unknownMember: 1 });
      expect(body.error?.details).toContainEqual(
        expect.objectContaining({ location: "body", field: "unknownMember", code: "unknown_member" }),
      );
    },
  );

  // `resumeWebhookEndpoint` has one argument for what are two members in REST.
  it.each(mutating.filter(({ name }) => name !== "resumeWebhookEndpoint"))(
    "$name has the arguments of its mutation",
    ({ operation, field }) => {
      expect(argumentsOf(operation, field).toSorted()).toEqual(membersOf(operation).toSorted());
    },
  );
});

/** The members that the arguments of a mutation are, without the organisation that an operator names. */
function argumentsOf({ graphql: binding }: AnyOperation, { args }: GraphQLField<unknown, unknown>): string[] {
  const names = args.flatMap(({ name, type }) => {
    const named = getNamedType(type);
    return isInputObjectType(named) ? Object.keys(named.getFields()) : [binding?.args?.[name] ?? name];
  });
  return names.filter((name) => name !== "organizationId");
}

function membersOf({ params, input }: AnyOperation): string[] {
  return [...Object.keys(params.shape), ...Object.keys(input.shape)];
}

it("has another name in REST only where the name has several words", () => {
  for (const name of operations.flatMap(membersOf)) expect(snakeCase(name)).toMatch(/^[a-z]+(_[a-z]+)*$/);
});
