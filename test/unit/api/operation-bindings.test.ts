/** REST and GraphQL give an operation the same input, and its result and errors have a place in the payload of the mutation. */
import type { Request } from "express";
import {
  buildSchema,
  getNamedType,
  type GraphQLInputType,
  isInputObjectType,
  isNonNullType,
  isObjectType,
} from "graphql";
import { describe, expect, it } from "vitest";
import { scopes } from "../../../src/api-keys/api.ts";
import { type GraphqlContext, runWithRequest } from "../../../src/api/graphql/context.ts";
import { operationMutations } from "../../../src/api/graphql/operation-mutations.ts";
import { testModeAdjustments } from "../../../src/api/graphql/resolvers/job-mutations.ts";
import { webhookAdjustments } from "../../../src/api/graphql/resolvers/webhook.ts";
import { readSdl } from "../../../src/api/graphql/sdl.ts";
import { inputReader } from "../../../src/api/rest/read-input.ts";
import { writerOf } from "../../../src/api/rest/wire.ts";
import { AppError } from "../../../src/core/errors.ts";
import { restOperations } from "../../../src/operations/all.ts";
import { takesQuery } from "../../../src/operations/operation.ts";

type AnyOperation = (typeof restOperations)[number];
type Values = Readonly<Record<string, unknown>>;

const schema = buildSchema(readSdl());
const mutations = schema.getMutationType()!.getFields();
const adjustments = { ...webhookAdjustments, ...testModeAdjustments };

const fieldOf = ({ graphql, name }: AnyOperation) =>
  graphql === null ? undefined : mutations[graphql?.field ?? name];

const PARAMS: Values = { id: "the-id", markingNumber: "TEST-1", type: "job.updated" };

const paramsOf = ({ params }: AnyOperation): Values =>
  Object.fromEntries(Object.keys(params.shape).map((name) => [name, PARAMS[name]]));

/** The inputs that the declaration documents, and one with each parameter of a query. */
function examplesOf({ rest, input, text }: AnyOperation): Values[] {
  const bodies = Object.values(text.body?.examples ?? {}).map(({ value }) => value as Values);
  if (!takesQuery(rest)) return bodies.length > 0 ? bodies : [{}];
  const members = Object.entries(input.shape).map(([name, member]) => [name, member.meta()?.examples?.[0]]);
  return [{}, Object.fromEntries(members) as Values];
}

/** Their arguments or payloads are not the members of REST; the tests of both features run them. */
const ADJUSTED = new Set(["resumeWebhookEndpoint", "createTestJobs", "reassignTestJob"]);

const bound = restOperations.flatMap((operation) => {
  const field = ADJUSTED.has(operation.name) ? undefined : fieldOf(operation);
  return field
    ? examplesOf(operation).map((values) => ({ name: operation.name, operation, field, values }))
    : [];
});

/** The input as the routes read it from a request with these members. */
function readByRest(operation: AnyOperation, values: Values): Values {
  const written = writerOf(operation.input)(values) as Record<string, string>;
  const read = inputReader(operation)({
    params: paramsOf(operation),
    originalUrl: takesQuery(operation.rest) ? `/?${new URLSearchParams(written).toString()}` : "/",
    body: written,
    get: () => undefined,
  } as unknown as Request);
  expect(read.problems).toEqual([]);
  return read.values;
}

/** GraphQL writes times with milliseconds. */
const withMilliseconds = (values: Values): unknown =>
  JSON.parse(JSON.stringify(values).replaceAll(/(T\d\d:\d\d:\d\d)Z/g, "$1.000Z"));

function toArgument(type: GraphQLInputType, value: unknown, absent: null | undefined): unknown {
  if (value === undefined && !isNonNullType(type)) return absent;
  return getNamedType(type).name === "DateTime" && typeof value === "string"
    ? new Date(value).toISOString()
    : value;
}

/** The arguments with these members, as GraphQL gives them to a resolver. `absent`: the value of the others. */
function argumentsOf({ operation, field, values }: (typeof bound)[number], absent?: null): Values {
  const all: Values = { ...paramsOf(operation), ...values };
  const args = field.args.map(({ name, type }): [string, unknown] => {
    const named = getNamedType(type);
    if (!isInputObjectType(named))
      return [name, toArgument(type, all[operation.graphql?.args?.[name] ?? name], absent)];
    const members = Object.values(named.getFields()).map((member) => [
      member.name,
      toArgument(member.type, all[member.name], absent),
    ]);
    return [name, Object.fromEntries(members.filter(([, value]) => value !== undefined))];
  });
  return Object.fromEntries(args.filter(([, value]) => value !== undefined));
}

const context = {
  principal: {
    organizationId: "1",
    liveOrganizationId: "2",
    keyId: "3",
    scopes,
    actor: { type: "key", id: "3" },
  },
  requestId: "request",
  ipAddress: null,
  services: {
    clock: { now: () => 0 },
    idempotency: { runOnce: (_keyed: unknown, work: () => unknown) => work() },
  },
} as unknown as GraphqlContext;

/** Runs the mutation with `run` in place of the operation's. */
function mutate(
  entry: (typeof bound)[number],
  run: (input: Values) => Promise<unknown>,
  args = argumentsOf(entry),
): Promise<object> {
  const resolvers = operationMutations(
    schema,
    [{ ...entry.operation, prepare: async () => undefined, run: (_s, _principal, input) => run(input) }],
    adjustments,
    {},
  );
  return runWithRequest(context as never, () => resolvers[entry.field.name]!(null, args, context));
}

describe("a mutation", () => {
  it.each(bound)(
    "gives $name the input that REST gives it, also if null is for absent: $values",
    async (entry) => {
      const inputs: Values[] = [];
      const record = async (input: Values) => {
        inputs.push(input);
        return Object.values(entry.operation.text.result.examples)[0];
      };
      await mutate(entry, record);
      const [input] = inputs;
      // Null clears a member in a patch.
      if (!entry.field.args.some(({ name }) => name === "patch"))
        await mutate(entry, record, argumentsOf(entry, null));
      expect(inputs.at(-1)).toEqual(input);
      expect(inputs.slice(0, 1)).toEqual([withMilliseconds(readByRest(entry.operation, entry.values))]);
    },
  );

  it.each(bound)("has a field for the result of $name", async (entry) => {
    const result = Object.values(entry.operation.text.result.examples)[0];
    const payload = getNamedType(entry.field.type);
    const { userErrors, ...fields } = (await mutate(entry, async () => result)) as { userErrors: unknown };
    expect(userErrors).toEqual([]);
    expect(Object.keys(fields).length).toBeGreaterThan(0);
    const known = isObjectType(payload) ? Object.keys(payload.getFields()) : [];
    expect(Object.keys(fields).filter((name) => !known.includes(name))).toEqual([]);
  });

  it.each(
    bound.filter(({ operation: { params } }) => "id" in params.shape || "markingNumber" in params.shape),
  )("names the argument of the object that $name does not find", async (entry) => {
    const { userErrors } = (await mutate(entry, () =>
      Promise.reject(new AppError("NotFoundException", "no")),
    )) as { userErrors: readonly { code: string; field: string; message: string }[] };
    const [argument] = Object.keys(argumentsOf(entry));
    const field = entry.field.args[0]!.name === "input" ? "input.markingNumber" : argument;
    expect(userErrors).toEqual([{ code: "not_found", field, message: "no" }]);
  });
});
