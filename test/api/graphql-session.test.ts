/** GraphQL with a console session: the same permissions as with a key, while the session is valid, from our own pages. */
import { beforeAll, describe, expect, it } from "vitest";
import { toTypedId } from "../../src/core/ids.ts";
import { createLogger } from "../../src/core/logger.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import { createTestUser } from "../support/accounts/session-client.ts";
import { createSignedInUser, signInUser, type SignedInTestUser } from "../support/accounts/signed-in-user.ts";
import { queryData, graphql } from "../support/graphql/client.ts";
import { startAppInstance } from "../support/app/app-instance.ts";
import type { TestOrganization } from "../support/app/app.fixture.ts";
import { eventuallyTruthy } from "../support/eventually.ts";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";

let app: SharedApp;
let agent: TestOrganization;
let owner: SignedInTestUser;
let member: SignedInTestUser;
let operator: SignedInTestUser;
let numbers: string[];

const VIEWER = "{ viewer { kind scopes organization { id } user { id name email role hasTwoFactor } } }";
const ANY = "{ jobs { totalCount } }";
const NEW_KEY =
  'mutation { createApiKey(input: { name: "new" }) { secret apiKey { id createdBy scopes } userErrors { code message } } }';

beforeAll(async () => {
  app = await sharedApp("api");
  agent = await app.createOrganization("agent");
  numbers = await app.createJobs(agent, [{}, {}]);
  owner = await createSignedInUser(app, agent.id);
  member = await createSignedInUser(app, agent.id, "dispatcher");
  operator = await createSignedInUser(app, null);
});

const codeOf = async (response: ReturnType<typeof graphql>) => {
  const { status, errors } = await response;
  return { status, code: errors?.[0]?.extensions.code };
};

describe("200", () => {
  it("returns an owner's user, organisation and scopes", async () => {
    expect((await owner.queryData(VIEWER)).viewer).toEqual({
      kind: "AGENT",
      scopes: ["JOBS_READ", "JOBS_WRITE", "WEBHOOKS_MANAGE", "KEYS_MANAGE"],
      organization: { id: toTypedId("org", agent.id) },
      user: {
        id: toTypedId("usr", owner.id),
        name: owner.name,
        email: owner.email,
        role: "OWNER",
        hasTwoFactor: false,
      },
    });
  });

  it("returns an operator without an organisation, and no user for a key", async () => {
    const expected = { kind: "OPERATOR", organization: null, user: { role: "OPERATOR" } };
    expect((await operator.queryData(VIEWER)).viewer).toMatchObject(expected);
    expect((await queryData(app, VIEWER, { key: agent.key })).viewer.user).toBeNull();
  });

  it("names the user in the history of a changed job", async () => {
    const change = `mutation { updateJob(input: { markingNumber: "${numbers[0]}", patch: { labels: "by a person" } }) {
      job { history(first: 1) { nodes { actor { type id } } } } userErrors { code } } }`;
    const { job } = (await member.queryData(change)).updateJob;
    expect(job.history.nodes[0].actor).toEqual({ type: "USER", id: toTypedId("usr", member.id) });
  });

  it("uses the key instead of the cookie", async () => {
    const other = await app.createOrganization("contractor");
    const { viewer } = await queryData(app, VIEWER, { key: other.key, headers: owner.headers });
    expect(viewer).toMatchObject({ kind: "CONTRACTOR", user: null });
  });

  it("accepts Sec-Fetch-Site: same-origin in place of Origin", async () => {
    const headers = { cookie: owner.client.cookie, "sec-fetch-site": "same-origin" };
    expect((await queryData(app, VIEWER, { headers })).viewer.user.email).toBe(owner.email);
  });
});

// evidence: session-ended-401
it("returns 401 UNAUTHENTICATED after the session was ended anywhere", async () => {
  const { headers, client } = await signInUser(app, owner);
  expect((await graphql(app, ANY, { headers })).status).toBe(200);
  await client.post("/auth/sign-out");
  expect(await codeOf(graphql(app, ANY, { headers }))).toEqual({ status: 401, code: "UNAUTHENTICATED" });
});

describe("403 FORBIDDEN", () => {
  const rejected = { status: 403, code: "FORBIDDEN" };

  it.each([
    ["no origin header", {}],
    ["another origin", { origin: "https://evil.example" }],
    ["a page without an origin", { origin: "null" }],
    ["an origin that CORS allows for keys", { origin: "https://studio.apollographql.com" }],
    ["another site by Sec-Fetch-Site", { "sec-fetch-site": "cross-site" }],
    ["a sibling domain", { "sec-fetch-site": "same-site" }],
    ["the address bar", { "sec-fetch-site": "none" }],
  ])("for a cookie from %s", async (_where, where) => {
    const headers = { cookie: owner.client.cookie, ...where };
    expect(await codeOf(graphql(app, ANY, { headers }))).toEqual(rejected);
    const byGet = await fetch(`${app.url}/graphql?query=${encodeURIComponent(ANY)}`, {
      headers: { "content-type": "application/json", ...headers },
    });
    expect(byGet.status).toBe(403);
  });

  it("and changes nothing", async () => {
    const mutation = `mutation { updateJob(input: { markingNumber: "${numbers[1]}", patch: { labels: "forged" } }) { job { id } } }`;
    const headers = { cookie: owner.client.cookie, origin: "https://evil.example" };
    await graphql(app, mutation, { headers });
    const { job } = await owner.queryData(`{ job(markingNumber: "${numbers[1]}") { labels } }`);
    expect(job.labels).toBeNull();
  });

  // evidence: session-role-403, operator-queries-403
  it("for a field that the role does not allow, with a message for people", async () => {
    const { status, errors } = await member.graphql("{ apiKeys { id } }");
    expect({ status, code: errors?.[0]?.extensions.code, message: errors?.[0]?.message }).toEqual({
      ...rejected,
      message: "Your role does not have the scope keys:manage, which this needs",
    });
    expect(await codeOf(owner.graphql("{ organizations { totalCount } }"))).toEqual(rejected);
  });
});

describe("a key created by a user", () => {
  it("names the user as creator and has the same scopes, without KEYS_MANAGE", async () => {
    const { createApiKey } = await owner.queryData(NEW_KEY);
    expect(createApiKey.apiKey).toMatchObject({
      createdBy: toTypedId("usr", owner.id),
      scopes: ["JOBS_READ", "JOBS_WRITE", "WEBHOOKS_MANAGE"],
    });
    expect((await queryData(app, ANY, { key: createApiKey.secret })).jobs.totalCount).toBe(2);
  });

  it("can be created by a developer with jobs:write, which the developer's session lacks", async () => {
    const developer = await createSignedInUser(app, agent.id, "developer");
    const update =
      'mutation { updateJob(input: { markingNumber: "none", patch: {} }) { userErrors { code } } }';
    const { errors } = await developer.graphql(update);
    expect(errors).toMatchObject([
      { message: "Your role does not have the scope jobs:write, which this needs" },
    ]);
    const { createApiKey } = await developer.queryData(
      `mutation { createApiKey(input: { name: "integration", scopes: [JOBS_READ, JOBS_WRITE] }) { apiKey { id } secret } }`,
    );
    expect((await graphql(app, update, { key: createApiKey.secret })).errors).toBeUndefined();
    const { id } = createApiKey.apiKey;
    expect(
      await developer.queryData("mutation ($id: ID!) { revokeApiKey(id: $id) { userErrors { code } } }", {
        id,
      }),
    ).toEqual({ revokeApiKey: { userErrors: [] } });
  });

  it.each([
    ["removed", sql`delete from user_account where id = `, "UnauthorizedException"],
    [
      "given another role",
      sql`update user_account set role = 'dispatcher' where id = `,
      "ForbiddenException",
    ],
  ])("is not created if the user was %s during the request", async (_what, change, code) => {
    const { id } = await createTestUser(app, { organizationId: agent.id, role: "owner" });
    const asking = {
      keyId: null,
      scopes: ["jobs:read", "jobs:write", "webhooks:manage", "keys:manage"],
      organizationId: agent.id,
      organizationType: "agent",
      actor: { type: "user", id },
      user: { role: "owner" },
      authenticatedAt: new Date(),
    } as const;
    await expect(app.keys.createFor(asking, { name: "in time" })).resolves.toBeTruthy();
    await app.database.query(sql`${change}${id}::uuid`);
    await expect(app.keys.createFor(asking, { name: "too late" })).rejects.toMatchObject({ code });
  });
});

it("rate limits count all sessions of a user in one bucket, and the organisation's users and keys in separate ones", async () => {
  const settings = { RATE_LIMITS: "on", RATE_LIMIT_STORE: "postgres", WAYMARK_ROLE: "api" };
  await using limited = await startAppInstance(app.databaseUrl, settings);
  const partner = await app.createOrganization("agent");
  const first = await createSignedInUser(limited, partner.id);
  const second = await signInUser(limited, first);
  const { headers } = await first.graphql(ANY);
  expect(headers.get("ratelimit-policy")).toBe('"read";q=100;w=2, "read-organization";q=400;w=2');
  await second.graphql(ANY);
  await second.graphql('mutation { deleteView(id: "x") { id } }');
  await graphql(limited, ANY, { key: partner.key });
  const [key] = await app.keys.list(partner.id);
  const buckets = await limited.database.query<{ id: string }>(
    sql`select id from rate_limit_bucket where split_part(id, ':', 1) = any(${[first.id, partner.id, key?.id ?? ""]})
      and (id like '%:read' or id like '%:write')`,
  );
  expect(buckets.map(({ id }) => id).toSorted()).toEqual(
    [
      `${first.id}:read`,
      `${first.id}:write`,
      `${key?.id}:read`,
      `${partner.id}:keys:read`,
      `${partner.id}:users:read`,
      `${partner.id}:users:write`,
    ].toSorted(),
  );
});

// evidence: request-log-user-id-only
it("the log contains the user ID, and neither e-mail address nor cookie", async () => {
  const lines: string[] = [];
  const logger = createLogger("info", { write: (line) => void lines.push(line) });
  await using logged = await startAppInstance(app.databaseUrl, { WAYMARK_ROLE: "api" }, { logger });
  const partner = await app.createOrganization("agent");
  const person = await createSignedInUser(logged, partner.id);
  await person.queryData(ANY);
  // The line is written after the response.
  const line = await eventuallyTruthy(() =>
    lines
      .map((text) => JSON.parse(text) as Record<string, unknown>)
      .find(({ route }) => route === "/graphql"),
  );
  expect(line).toMatchObject({
    user: toTypedId("usr", person.id),
    organization: toTypedId("org", partner.id),
    status: 200,
  });
  expect(line).not.toHaveProperty("key");
  const log = lines.join("");
  for (const secret of [person.email, person.password, person.client.cookie.split("=")[1] ?? "?"])
    expect(log).not.toContain(secret);
});
