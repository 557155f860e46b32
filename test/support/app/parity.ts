/** Runs an action through REST and through GraphQL, on an equal organisation each, and compares the effects and the refusals. */
import { expect } from "vitest";
import { camelCasePath } from "../../../src/core/names.ts";
import type { Problem } from "../../../src/core/errors.ts";
import { graphql, type GraphqlError, type GraphqlResponse } from "../graphql/client.ts";
import type { TestOrganization } from "./app.fixture.ts";
import type { SharedApp } from "./shared-app.ts";
import type { ApiResponse, RequestOptions } from "./app-instance.ts";
import { Placeholders, snapshotOf, type OrganizationSnapshot } from "./organization-snapshot.ts";

/** What `setUp` returns: at least the organisation whose rows are compared. `key` calls the API; default: the organisation's. */
export interface ParityFixture {
  organization: TestOrganization;
  key?: string;
}

export interface ParityAction<Fixture extends ParityFixture> {
  /** Called once for each interface. It must create equal organisations. */
  setUp: (app: SharedApp) => Promise<Fixture>;
  rest: (fixture: Fixture) => Omit<RequestOptions, "key" | "body"> & { path: string; body?: unknown };
  graphql: (fixture: Fixture) => { document: string; variables?: Record<string, unknown> };
}

/** Why an interface refused the action. `code` is a code of `userErrors`, in lower case. */
export interface Refusal {
  code: string;
  /** One sentence per problem, with GraphQL's names of fields. */
  messages: readonly string[];
}

export interface ParityResult<Response, Fixture> {
  fixture: Fixture;
  response: Response;
  /** Null if the action succeeded. */
  refusal: Refusal | null;
  stored: OrganizationSnapshot;
}

export interface BothResults<Fixture> {
  rest: ParityResult<ApiResponse, Fixture>;
  graphql: ParityResult<GraphqlResponse, Fixture>;
}

export async function runBoth<Fixture extends ParityFixture>(
  app: SharedApp,
  action: ParityAction<Fixture>,
): Promise<BothResults<Fixture>> {
  return { rest: await runRest(app, action), graphql: await runGraphql(app, action) };
}

/** Runs the action and expects that both interfaces do it and store equal rows, or refuse it for the same reason. */
async function expectParity<Fixture extends ParityFixture>(
  app: SharedApp,
  action: ParityAction<Fixture>,
): Promise<BothResults<Fixture>> {
  const both = await runBoth(app, action);
  expectSameData(both.rest.refusal, both.graphql.refusal);
  expect(both.rest.stored).toEqual(both.graphql.stored);
  return both;
}

/** The same for an action that both interfaces must do. */
export async function expectSameEffect<Fixture extends ParityFixture>(
  app: SharedApp,
  action: ParityAction<Fixture>,
): Promise<BothResults<Fixture>> {
  const both = await expectParity(app, action);
  expect(both.rest.refusal).toBeNull();
  return both;
}

/** The same for an action that both interfaces must refuse with this code of `userErrors`, and change nothing. */
export async function expectSameRefusal<Fixture extends ParityFixture>(
  app: SharedApp,
  action: ParityAction<Fixture>,
  code: string,
): Promise<BothResults<Fixture>> {
  const both = await expectParity(app, action);
  expect(both.rest.refusal?.code).toBe(code);
  return both;
}

/** Expects equal values after ids, names and times are replaced by placeholders, in the order in which they appear. */
export function expectSameData(rest: unknown, other: unknown): void {
  expect(new Placeholders().replaceIn(rest)).toEqual(new Placeholders().replaceIn(other));
}

async function runRest<Fixture extends ParityFixture>(
  app: SharedApp,
  action: ParityAction<Fixture>,
): Promise<ParityResult<ApiResponse, Fixture>> {
  const fixture = await action.setUp(app);
  const { path, body, ...options } = action.rest(fixture);
  const response = await app.call(path, {
    ...options,
    key: keyOf(fixture),
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const { error } = response.body;
  const stored = await snapshotOf(app.database, fixture.organization.id);
  return { fixture, response, refusal: error && restRefusal(error), stored };
}

async function runGraphql<Fixture extends ParityFixture>(
  app: SharedApp,
  action: ParityAction<Fixture>,
): Promise<ParityResult<GraphqlResponse, Fixture>> {
  const fixture = await action.setUp(app);
  const { document, variables = {} } = action.graphql(fixture);
  const response = await graphql(app, document, { key: keyOf(fixture), variables });
  const stored = await snapshotOf(app.database, fixture.organization.id);
  return { fixture, response, refusal: graphqlRefusal(response), stored };
}

function keyOf({ organization, key = organization.key }: ParityFixture): string {
  return key;
}

const restCodes: Readonly<Record<string, string>> = {
  BadRequestException: "invalid",
  ConflictException: "conflict",
  ForbiddenException: "forbidden",
  NotFoundException: "not_found",
  TooManyRequestsException: "rate_limited",
};

function restRefusal({ code, message, details }: NonNullable<ApiResponse["body"]["error"]>): Refusal {
  const isLimit = typeof details === "object" && details !== null && "limit" in details;
  return {
    code: isLimit ? "limit_exceeded" : (restCodes[code] ?? code),
    messages: Array.isArray(details) ? (details as Problem[]).map(sentenceOf) : [message],
  };
}

const topLevelCodes: Readonly<Record<string, string>> = {
  BAD_USER_INPUT: "invalid",
  FORBIDDEN: "forbidden",
  RATE_LIMITED: "rate_limited",
};

/** A mutation returns refusals as `userErrors`; a query, and a missing scope, as a top-level error. */
function graphqlRefusal({ data, errors }: GraphqlResponse): Refusal | null {
  const [error] = errors ?? [];
  if (error) return topLevelRefusal(error);
  const payloads = Object.values((data ?? {}) as Record<string, { userErrors?: UserErrors } | null>);
  const userErrors = payloads.flatMap((payload) => payload?.userErrors ?? []);
  const [first] = userErrors;
  return first
    ? { code: first.code.toLowerCase(), messages: userErrors.map(({ message }) => message) }
    : null;
}

type UserErrors = readonly { code: string; message: string }[];

function topLevelRefusal({ message, extensions }: GraphqlError): Refusal {
  const { code, problems } = extensions;
  return { code: topLevelCodes[code] ?? code, messages: problems ? problems.map(sentenceOf) : [message] };
}

function sentenceOf({ field, message }: { field: string; message: string }): string {
  return `${camelCasePath(field)} ${message}`.trimStart();
}
