/**
 * Documents of a principal that knows all values of another organisation and tries them in every argument. They are generated
 * from the schema, so new fields are covered automatically.
 */
import { getNamedType, type GraphQLField, type GraphQLObjectType } from "graphql";
import { expect } from "vitest";
import { limits } from "../../../src/api/graphql/execution/limits.ts";
import { createSchema } from "../../../src/api/graphql/schema.ts";
import { newUuid } from "../../../src/core/ids.ts";
import { VALID_PASSWORD } from "../accounts/session-client.ts";
import type { TestApp } from "../app/app.fixture.ts";
import { eventually } from "../eventually.ts";
import { graphql, queryData, type GraphqlRequestOptions } from "./client.ts";
import {
  generateArguments,
  possibleObjectTypes,
  selectAllFields,
  type ArgumentLiterals,
} from "./document-generator.ts";
import {
  countSubscriptions,
  createSubscriptionClient,
  subscribe,
  type JobSubscription,
} from "./subscription-client.ts";

const schema = createSchema();
const fieldsOf = (type: GraphQLObjectType | null | undefined) => Object.values(type?.getFields() ?? {});

/** The fields of `Query` whose data is not the same for everyone. */
export const queryFields = fieldsOf(schema.getQueryType()).filter(
  ({ name }) => name !== "jobStatuses" && name !== "failureReasons",
);
export const mutationFields = fieldsOf(schema.getMutationType());
const [subscriptionField] = fieldsOf(schema.getSubscriptionType());

/** A principal with a key or a session. */
export type Principal = Pick<GraphqlRequestOptions, "key" | "headers">;
export type RootField = GraphQLField<unknown, unknown>;

export interface KnownValues {
  /** Typed IDs. */
  ids: readonly string[];
  cursors: readonly string[];
  /** Marking Numbers and other texts. The first is the Marking Number that mutations name. */
  texts: readonly string[];
  /** The URL of an identity provider. Default: none answers. */
  issuer?: string;
}

const quoted = (values: readonly string[]) => values.map((value) => JSON.stringify(value));

/** Arguments that a principal who knows all values would use. */
export function createAttempts({
  ids,
  cursors,
  texts,
  issuer = "http://127.0.0.1:9",
}: KnownValues): ArgumentLiterals {
  const byName: Record<string, readonly string[]> = {
    after: quoted(cursors),
    before: quoted(cursors),
    first: ["2"],
    last: ["2"],
    graceHours: ["0"],
    url: quoted(["http://127.0.0.1:9/elsewhere"]),
    code: quoted(["stolen"]),
    cidrs: quoted(["10.0.0.0/8"]),
    email: quoted(["someone@invited.example"]),
    issuer: quoted([issuer]),
    domain: quoted(["elsewhere.example"]),
    timeZone: quoted(["Europe/London"]),
    clientId: quoted(["another-client"]),
    password: quoted([VALID_PASSWORD]),
    actions: quoted(["member.invited", "session.signed_in"]),
    days: ["30"],
    count: ["1"],
    steps: quoted(["failed"]),
    // In the format of the request log.
    requestId: quoted(["req_01JD0000000000000000000000"]),
  };
  const organizations = ids.filter((id) => id.startsWith("org_"));
  const byType: Record<string, readonly string[]> = {
    ID: quoted([...new Map(ids.map((id) => [id.slice(0, 3), id])).values()]),
    String: quoted(texts),
    Int: ["77"],
    Float: ["31.5"],
    Boolean: ["true", "false"],
    DateTime: quoted(["2020-01-01T00:00:00Z", "2040-01-01T00:00:00Z"]),
    LocalDate: quoted(["2021-05-06"]),
  };
  return {
    literalsFor(name, type) {
      if (/^(organization|agent|contractor)Id$/.test(name)) return quoted(organizations);
      const literals = byName[name] ?? byType[type];
      if (!literals) throw new Error(`Say what an outsider would try for ${name}: ${type}`);
      return literals;
    },
  };
}

/** Each call of a root field with arguments from `attempts`, without its selection. */
function callsOf(field: RootField, attempts: ArgumentLiterals): string[] {
  return generateArguments(field, attempts).map((list) => `${field.name}${withShortPage(field, list)}`);
}

/**
 * The calls with what they select. Filters decide which objects a call returns, not what these contain: only the first of each
 * argument selects nested objects too.
 */
function selectingCalls(field: RootField, attempts: ArgumentLiterals): { calls: string[]; depth: number }[] {
  const filters = new Set<string>();
  const { deep = [], shallow = [] } = Object.groupBy(callsOf(field, attempts), (call) => {
    const filter = /\b(?:filter|orderBy): \{ \w+/.exec(call)?.[0];
    if (filter === undefined) return "deep";
    const isKnown = filters.has(filter);
    filters.add(filter);
    return isKnown ? "shallow" : "deep";
  });
  return [
    { calls: deep, depth: 3 },
    { calls: shallow, depth: 1 },
  ];
}

/** Selections of the calls, one document per possible object type. */
function everything(field: RootField, depth: number): string[] {
  return possibleObjectTypes(schema, getNamedType(field.type)).map(
    (type) => `fragment everything on ${type.name} ${selectAllFields(type, depth)}`,
  );
}

function withShortPage(field: RootField, list: string): string {
  const isPage = field.args.some(({ name }) => name === "first") && !/\b(first|last):/.test(list);
  if (!isPage) return list;
  // `before` requires `last`.
  const size = /[( ]before:/.test(list) ? "last: 2" : "first: 2";
  return list === "" ? `(${size})` : list.replace("(", `(${size}, `);
}

/** Sends all calls of a query and yields the data of each response as JSON. */
export async function* answersTo(
  app: Pick<TestApp, "url">,
  principal: Principal,
  field: RootField,
  attempts: ArgumentLiterals,
): AsyncGenerator<string> {
  for (const { calls, depth } of selectingCalls(field, attempts))
    for (const fragment of everything(field, depth))
      for (const part of chunksOf(calls, limits.rootFields))
        yield await answerTo(app, principal, `{ ${withAliases(part)} } ${fragment}`);
}

/** Whether one of the principals gets one of the texts from a call of a query. */
export async function isReturnedTo(
  app: Pick<TestApp, "url">,
  principals: readonly Principal[],
  field: RootField,
  { attempts, texts }: { attempts: ArgumentLiterals; texts: readonly string[] },
): Promise<boolean> {
  for (const principal of principals)
    for await (const answer of answersTo(app, principal, field, attempts))
      if (texts.some((text) => answer.includes(text))) return true;
  return false;
}

/** Sends all calls of a mutation, with everything that it returns, and yields what each returned as JSON. */
export async function* resultsOf(
  app: Pick<TestApp, "url">,
  principal: Principal,
  field: RootField,
  attempts: ArgumentLiterals,
): AsyncGenerator<{ call: string; result: string }> {
  const fragments = everything(field, 2).join(" ");
  const send = async (calls: readonly string[]) => {
    const { data } = await graphql(app, `mutation { ${withAliases(calls)} } ${fragments}`, principal);
    return data && calls.map((call, n) => ({ call, result: JSON.stringify(data[`a${n}`]) }));
  };
  for (const part of chunksOf(callsOf(field, attempts), limits.rootFields)) {
    const results = await send(part);
    if (results) yield* results;
    // A refused call ends the operation, so each is sent alone.
    else
      for (const [n, alone] of (await Promise.all(part.map((call) => send([call])))).entries())
        yield* alone ?? [{ call: part[n] ?? "", result: "null" }];
  }
}

function withAliases(calls: readonly string[]): string {
  return calls.map((call, n) => `a${n}: ${call} { ...everything }`).join(" ");
}

/** Returns the data. Every document is valid. */
async function answerTo(app: Pick<TestApp, "url">, principal: Principal, document: string): Promise<string> {
  const { data, errors, text } = await graphql(app, document, principal);
  const rejected = errors?.find(({ extensions }) => !/^(BAD_USER_INPUT|FORBIDDEN)$/.test(extensions.code));
  expect(rejected ? text : "").toBe("");
  return JSON.stringify(data);
}

/** Different filters of one organisation, of which 50 are allowed. */
const FILTERS = 40;

/** Calls of the subscription with different filters. */
export function subscriptionCallsOf(attempts: ArgumentLiterals): string[] {
  if (!subscriptionField) throw new Error("There is a subscription");
  const calls = callsOf(subscriptionField, attempts)
    // An unknown status code would be rejected.
    .filter((call) => !/normalizedStatus: \{ (eq|in):/.test(call));
  const step = Math.ceil(calls.length / FILTERS);
  return calls.filter((_, index) => index % step === 0);
}

/** Starts all subscriptions and resolves when all are active. */
export async function followAll(
  app: TestApp,
  key: string,
  calls: readonly string[],
): Promise<JobSubscription[]> {
  const before = await countSubscriptions(app);
  const all = chunksOf(calls, 15).flatMap((part) => {
    const client = createSubscriptionClient(app, { "x-api-key": key });
    return part.map((call) =>
      subscribe(client, {}, `subscription { ${call} { id type sequence cursor job { markingNumber } } }`),
    );
  });
  await eventually(async () => expect(await countSubscriptions(app)).toBe(before + all.length));
  return all;
}

export function changeJob(app: TestApp, key: string, markingNumber: string): Promise<unknown> {
  const input = `{ markingNumber: "${markingNumber}", patch: { instructions: "${newUuid()}" } }`;
  return queryData(app, `mutation { updateJob(input: ${input}) { userErrors { code } } }`, { key });
}

function chunksOf<Item>(items: readonly Item[], size: number): Item[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  );
}
