/** What every declared operation has in common: REST and GraphQL apply its scopes, its recent sign-in and its input. */
import {
  buildSchema,
  getNamedType,
  getNullableType,
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
import { SESSION_MODE_HEADER } from "../../src/accounts/api.ts";
import type { Problem } from "../../src/core/errors.ts";
import { snakeCase } from "../../src/core/names.ts";
import { operations, restOperations } from "../../src/operations/all.ts";
import type { Role } from "../../src/operations/operation.ts";
import { createSignedInUser } from "../support/accounts/signed-in-user.ts";
import { startTestApp, type TestApp, type TestOrganization } from "../support/app/app.fixture.ts";
import type { ApiResponse } from "../support/app/app-instance.ts";
import { createFakeClock, type FakeClock, MINUTE_MS } from "../support/fake-clock.ts";
import { graphql, type GraphqlResponse } from "../support/graphql/client.ts";

type AnyOperation = (typeof operations)[number];
type AnyRestOperation = (typeof restOperations)[number];

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
  return await app.createKey(agent.id, {
    scopes: [...scopes],
    ...(access.mode === "test" && { testSide: "agent" as const }),
  });
}

const operatorKey = (): Promise<string> => app.createKey(null, { scopes: [...allScopes] });

const schema = buildSchema(readSdl());
const mutations = schema.getMutationType()!.getFields();
const queries = schema.getQueryType()!.getFields();

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
  if (type.name === "Boolean") return "false";
  if (type.name === "LocalDate") return '"2026-12-01"';
  return type.name === "Int" ? "1" : '"unknown"';
}

function documentOf({ name, args, type }: GraphQLField<unknown, unknown>): string {
  const required = args.filter((arg) => isNonNullType(arg.type) && arg.defaultValue === undefined);
  const list = required.map((arg) => `${arg.name}: ${literalOf(arg.type)}`).join(", ");
  const isMutation = String(type).endsWith("Payload!");
  const [kind, selection] = isMutation ? ["mutation", "userErrors { code }"] : ["query", "__typename"];
  return `${kind} { ${name}${list === "" ? "" : `(${list})`} { ${selection} } }`;
}

function request({ rest }: AnyRestOperation, key: string, body?: object, query = ""): Promise<ApiResponse> {
  const path = `/v1${rest.path.replaceAll(/\{\w+\}/g, "unknown")}${query}`;
  return app.call(path, { method: rest.method.toUpperCase(), key, body: body && JSON.stringify(body) });
}

/** `test/api/refusals.test.ts` has those of REST. */
describe("the scopes of an operation", () => {
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
  const operation = restOperations.find(({ name }) => name === "updateWebhookEndpoint")!;
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

/** Those of test mode, which have a route in REST. */
const testOnly = restOperations
  .filter(({ access }) => access.mode === "test")
  .flatMap((operation) =>
    mutating
      .filter(({ name }) => name === operation.name)
      .map(({ field }) => ({ name: operation.name, operation, field })),
  );

describe("a session without a recent sign-in", () => {
  const refusalOf = async ({ operation, field }: (typeof mutating)[number]) => {
    const user = await createSignedInUser(
      app,
      String(operation.access.role) === "operator" ? null : agent.id,
    );
    clock.advance(11 * MINUTE_MS);
    const { errors = [] } = await user.graphql(documentOf(field));
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

const withRole = (matches: (role: Role) => boolean) =>
  mutating.filter(({ operation: { access } }) => access.role && matches(access.role));

const messagesOf = ({ errors }: GraphqlResponse) => errors?.map(({ message }) => message);

describe("the role of an operation", () => {
  it.each(withRole((role) => role === "operator"))(
    "$name is refused to an owner and to a partner's key",
    async (entry) => {
      const refused = ["Only operators of the service can do this"];
      const owner = await createSignedInUser(app, agent.id);
      const key = await keyFor(entry.operation);
      expect(messagesOf(await owner.graphql(documentOf(entry.field)))).toEqual(refused);
      expect(messagesOf(await graphql(app, documentOf(entry.field), { key }))).toEqual(refused);
    },
  );

  it.each(withRole((role) => role === "operator"))("$name takes an operator's key", async ({ field }) => {
    expect(messagesOf(await graphql(app, documentOf(field), { key: await operatorKey() }))).toBeUndefined();
  });

  it.each(withRole((role) => role !== "operator"))(
    "$name is refused to keys",
    async ({ operation, field }) => {
      for (const key of [await keyFor(operation), await operatorKey()])
        expect(messagesOf(await graphql(app, documentOf(field), { key }))).toEqual([
          "Only signed-in users can do this, not API keys",
        ]);
    },
  );

  const ofLiveMode = mutating.filter(({ operation }) => operation.access.mode === "live");
  it.each(ofLiveMode)("$name is refused to owners in test mode", async ({ field }) => {
    const owner = await createSignedInUser(app, agent.id);
    await owner.client.post("/auth/test-mode");
    const headers = { ...owner.headers, [SESSION_MODE_HEADER]: "test" };
    expect(messagesOf(await graphql(app, documentOf(field), { headers }))).toEqual([
      "This belongs to live mode. Switch to live mode first",
    ]);
  });
});

/** Keys by their only scope, users by their role, and an operator's key with all scopes. */
const members = ["owner", "developer", "dispatcher", "viewer"] as const;
const principals = [...allScopes, "no scope", ...members, "operator key"] as const;
const people = [...members, "operator key"];
const managers = ["owner", "developer", "operator key"];

const writers = ["owner", "dispatcher", "operator key"];

/** The root fields with hand-written resolvers, and who may use them. */
const allowed: Record<string, readonly string[]> = {
  viewer: principals,
  node: principals,
  nodes: principals,
  job: ["jobs:read", ...people],
  jobs: ["jobs:read", ...people],
  jobsByMarkingNumber: ["jobs:read", ...people],
  jobStats: ["jobs:read", ...people],
  jobsToday: members,
  jobStatuses: ["jobs:read", ...people],
  failureReasons: ["jobs:read", ...people],
  events: ["jobs:read", ...people],
  updateJob: ["jobs:write", ...writers],
  updateJobs: ["jobs:write", ...writers],
  rescheduleJobs: ["jobs:write", ...writers],
  createJobs: ["operator key"],
  assignJobs: ["operator key"],
  setProviderStatus: ["operator key"],
  webhookEndpoints: ["webhooks:manage", ...managers],
  webhookEndpoint: ["webhooks:manage", ...managers],
  webhookDeliveries: ["webhooks:manage", ...managers],
  failingWebhookEndpoints: ["operator key"],
  apiKeys: ["keys:manage", ...managers],
  requestLog: [...allScopes, "no scope", ...managers],
  usage: ["webhooks:manage", "owner", "developer"],
  members: ["webhooks:manage", ...people],
  invitations: ["owner"],
  singleSignOn: ["owner"],
  savedViews: ["dispatcher", "owner"],
  notifications: members,
  auditLog: ["owner", "operator key"],
  organizations: ["operator key"],
  organizationOverview: ["operator key"],
  organizationsNeedingAttention: ["operator key"],
  accountRequests: ["operator key"],
  mailOutbox: ["operator key"],
};

describe("a root field with a hand-written resolver", () => {
  const send: Record<string, (document: string) => Promise<GraphqlResponse>> = {};
  const addKey = async (name: string, granted: readonly Scope[], organizationId: string | null) => {
    const key = await app.createKey(organizationId, { scopes: [...granted] });
    send[name] = (document) => graphql(app, document, { key });
  };
  beforeAll(async () => {
    for (const scope of allScopes) await addKey(scope, [scope], agent.id);
    await addKey("no scope", [], agent.id);
    await addKey("operator key", allScopes, null);
    for (const role of members) {
      const user = await createSignedInUser(app, agent.id, role);
      send[role] = (document) => user.graphql(document);
    }
  });

  it("is every query, and every mutation that no operation declares", () => {
    const own = Object.keys(mutations).filter((name) => !mutating.some(({ field }) => field.name === name));
    expect(Object.keys(allowed).toSorted()).toEqual([...Object.keys(queries), ...own].toSorted());
  });

  it.each(Object.entries(allowed))("%s is refused to all others", async (name, expected) => {
    const document = documentOf((queries[name] ?? mutations[name])!);
    for (const principal of principals) {
      const { errors = [] } = await send[principal]!(document);
      const isRefused = errors.some(({ extensions }) => extensions.code === "FORBIDDEN");
      expect([principal, isRefused]).toEqual([principal, !expected.includes(principal)]);
    }
  });
});

it.each(testOnly)("$name exists for test keys only", async ({ operation, field }) => {
  const key = await app.createKey(agent.id);
  const { status, body } = await request(operation, key, {});
  expect([status, body.error?.message]).toEqual([404, "There is no such route"]);
  const { data } = await graphql(app, documentOf(field), { key });
  expect(data).toEqual({ [field.name]: { userErrors: [{ code: "NOT_FOUND" }] } });
});

describe("the input of an operation", () => {
  const strict = restOperations.filter(({ text, rest }) => text.body && !rest.places);
  it.each(strict.map((operation) => ({ name: operation.name, operation })))(
    "$name rejects a member that it does not have, in REST",
    async ({ operation }) => {
      const { body } = await request(operation, await keyFor(operation), { unknownMember: 1 });
      expect(body.error?.details).toContainEqual(
        expect.objectContaining({ location: "body", field: "unknownMember", code: "unknown_member" }),
      );
    },
  );

  it.each(restOperations.map((operation) => ({ name: operation.name, operation })))(
    "$name rejects a parameter that it does not have, or names it if it changes nothing",
    async ({ operation }) => {
      const { rest, rate, text } = operation;
      const body = text.body ? {} : undefined;
      const names = "?dryrun=true&a%20b&dryrun";
      const response = await request(operation, await keyFor(operation), body, names);
      const isChange = rest.method !== "get" && operation.name !== "lookUpJobs";
      expect(rate !== "read").toBe(isChange);
      const problems = ((response.body.error?.details ?? []) as Problem[]).filter(
        ({ location }) => location === "query",
      );
      expect(problems.map(({ field, code }) => [field, code])).toEqual(
        isChange
          ? [
              ["dryrun", "unknown_parameter"],
              ["a b", "unknown_parameter"],
            ]
          : [],
      );
      expect(response.headers.get("x-ignored-parameters")).toBe(isChange ? null : "dryrun, a%20b");
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
    const isInput = isInputObjectType(named) && !isListType(getNullableType(type));
    return isInput ? Object.keys(named.getFields()) : [binding?.args?.[name] ?? name];
  });
  return names.filter((name) => name !== "organizationId");
}

function membersOf({ params, input }: AnyOperation): string[] {
  return [...Object.keys(params.shape), ...Object.keys(input.shape)];
}

it("has another name in REST only where the name has several words", () => {
  for (const name of operations.flatMap(membersOf)) expect(snakeCase(name)).toMatch(/^[a-z]+(_[a-z]+)*$/);
});
