/** GraphQL fields used only by the console: saved views, secrets, organisations and failing endpoints. */
import { randomBytes } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { SESSION_MODE_HEADER } from "../../src/accounts/api.ts";
import { fromTypedId, toTypedId } from "../../src/core/ids.ts";
import { raw, sql } from "../../src/core/postgres/sql.ts";
import { createSignedInUser, signInUser, type SignedInTestUser } from "../support/accounts/signed-in-user.ts";
import { queryData, graphql } from "../support/graphql/client.ts";
import type { TestOrganization } from "../support/app/app.fixture.ts";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";

let app: SharedApp;
let agent: TestOrganization;
let owner: SignedInTestUser;
let operator: SignedInTestUser;

beforeAll(async () => {
  app = await sharedApp("api");
  agent = await app.createOrganization("agent");
  owner = await createSignedInUser(app, agent.id);
  operator = await createSignedInUser(app, null);
});

/** A payload without the change. */
const refused = (code: string, field: string | null = "id") => ({ userErrors: [{ code, field }] });

describe("savedViews", () => {
  const VIEWS = "{ savedViews { id name query } }";
  const SAVE = `mutation ($name: String!, $query: String!) {
    saveView(name: $name, query: $query) { view { id name query } userErrors { code field message } } }`;
  const REMOVE = "mutation ($id: ID!) { deleteView(id: $id) { id userErrors { code field } } }";
  const save = async (person: SignedInTestUser, name: string, query = "?status=failed") =>
    (await person.queryData(SAVE, { name, query })).saveView;
  const names = async (person: SignedInTestUser) =>
    (await person.queryData(VIEWS)).savedViews.map(({ name }: { name: string }) => name);

  it("are listed per user, by name, from every session", async () => {
    const person = await createSignedInUser(app, agent.id, "dispatcher");
    const { view } = await save(person, " Late ");
    await save(person, "by day", "?scheduled=2031-01-01");
    expect(view).toMatchObject({ name: "Late", query: "?status=failed" });
    expect(await names(await signInUser(app, person))).toEqual(["by day", "Late"]);
    expect(await names(owner)).toEqual([]);
  });

  it("are replaced by a view of the same name", async () => {
    const person = await createSignedInUser(app, agent.id);
    const { view } = await save(person, "mine");
    expect((await save(person, "mine", "?q=2")).view).toEqual({ ...view, query: "?q=2" });
    expect((await person.queryData(VIEWS)).savedViews).toHaveLength(1);
  });

  it("can only be deleted by their owner", async () => {
    const person = await createSignedInUser(app, agent.id);
    const { id } = (await save(person, "mine")).view;
    const missing = { id: null, userErrors: [{ code: "NOT_FOUND", field: "id" }] };
    expect((await owner.queryData(REMOVE, { id })).deleteView).toEqual(missing);
    expect((await person.queryData(REMOVE, { id: "viw_x" })).deleteView).toEqual(missing);
    expect((await person.queryData(REMOVE, { id })).deleteView).toEqual({ id, userErrors: [] });
    expect((await person.queryData(REMOVE, { id })).deleteView).toEqual(missing);
  });

  async function openTeam() {
    const { id: organization } = await app.createOrganization("agent");
    const author = await createSignedInUser(app, organization, "dispatcher");
    const { id } = (await save(author, "team")).view;
    await save(author, "private");
    return {
      author,
      id,
      colleague: await createSignedInUser(app, organization, "dispatcher"),
      owner: await createSignedInUser(app, organization),
    };
  }

  describe("that are shared", () => {
    const SHARE = `mutation ($id: ID!, $isShared: Boolean!) {
      shareView(id: $id, isShared: $isShared) { view { isShared } userErrors { code field } } }`;
    const OWNERS = "{ savedViews { name isShared owner { id } } }";
    const share = async (person: SignedInTestUser, id: string, isShared = true) =>
      (await person.queryData(SHARE, { id, isShared })).shareView;

    it("are visible in their organisation, also in test mode, and in no other", async () => {
      const team = await openTeam();
      const isPrivate = refused("NOT_FOUND");
      expect(await share(team.owner, team.id)).toMatchObject(isPrivate);
      expect(await share(team.author, team.id)).toEqual({ view: { isShared: true }, userErrors: [] });
      const shared = { name: "team", isShared: true, owner: { id: toTypedId("usr", team.author.id) } };
      expect((await team.colleague.queryData(OWNERS)).savedViews).toEqual([shared]);
      await team.owner.client.post("/auth/test-mode");
      const inTestMode = { ...team.colleague.headers, [SESSION_MODE_HEADER]: "test" };
      const { data } = await graphql(app, VIEWS, { headers: inTestMode });
      expect(data.savedViews).toMatchObject([{ name: "team" }]);
      for (const outsider of [owner, operator]) {
        expect(await names(outsider)).not.toContain("team");
        expect(await share(outsider, team.id, false)).toMatchObject(isPrivate);
        const read = await outsider.queryData("query ($id: ID!) { node(id: $id) { id } }", { id: team.id });
        expect(read.node).toBeNull();
      }
    });

    it("are changed only by their user and by owners", async () => {
      const { author, colleague, owner: teamOwner, id } = await openTeam();
      await share(author, id);
      expect(await share(colleague, id, false)).toMatchObject(refused("FORBIDDEN"));
      expect((await colleague.queryData(REMOVE, { id })).deleteView).toMatchObject(refused("FORBIDDEN"));
      expect((await save(colleague, "team", "?q=own")).view.id).not.toBe(id);
      expect(await share(teamOwner, id, false)).toMatchObject({ view: { isShared: false } });
      expect(await names(colleague)).toEqual(["team"]);
      await share(author, id);
      expect((await teamOwner.queryData(REMOVE, { id })).deleteView).toEqual({ id, userErrors: [] });
      expect(await names(author)).toEqual(["private"]);
    });

    it("are limited to 50 of an organisation", async () => {
      const { author, id } = await openTeam();
      await app.database.query(sql`
        update saved_view set is_shared = true where user_id = ${author.id}::uuid and name = 'private'`);
      await app.database.query(sql`
        insert into saved_view (id, user_id, name, query, is_shared)
        select gen_random_uuid(), ${author.id}::uuid, 'view ' || n, '?', true from generate_series(1, 49) n`);
      expect(await share(author, id)).toMatchObject({ view: null, ...refused("LIMIT_EXCEEDED") });
    });
  });

  it.each([
    ["an empty name", " ", "?", "name"],
    ["a name that is too long", "n".repeat(61), "?", "name"],
    ["a name with a line break", "a\nb", "?", "name"],
    ["a name that PostgreSQL cannot store", "a\u0000b", "?", "name"],
    ["a query that is too long", "n", "q".repeat(2_001), "query"],
    ["a query that is not valid in a URL", "n", "a b", "query"],
  ])("reject %s", async (_what, name, query, field) => {
    expect(await save(owner, name, query)).toMatchObject({
      view: null,
      userErrors: [{ code: "INVALID", field }],
    });
  });

  // evidence: saved-views-limit-concurrent
  it("are limited to 50 per user, also when saved concurrently", async () => {
    const person = await createSignedInUser(app, agent.id);
    // One save per connection of the pool: they run one after the other, and further ones would time out waiting for one.
    await app.database.query(sql`
      insert into saved_view (id, user_id, name, query)
      select gen_random_uuid(), ${person.id}::uuid, 'view ' || n, '?' from generate_series(1, 45) n`);
    const results = await Promise.all(Array.from({ length: 10 }, (_, n) => save(person, `another ${n}`)));
    const rejected = results.filter(({ view }) => view === null);
    expect(rejected).toHaveLength(5);
    expect(rejected[0].userErrors).toMatchObject([{ code: "LIMIT_EXCEEDED" }]);
    expect((await person.queryData(VIEWS)).savedViews).toHaveLength(50);
    const savedName = results.find(({ view }) => view !== null).view.name;
    expect((await save(person, savedName, "?new")).userErrors).toEqual([]);
  });

  it("are deleted with the user", async () => {
    const person = await createSignedInUser(app, agent.id, "dispatcher");
    await save(person, "mine");
    const id = toTypedId("usr", person.id);
    await owner.queryData(`mutation { removeMember(id: "${id}") { id } }`);
    expect(
      await app.database.query(sql`select 1 from saved_view where user_id = ${person.id}::uuid`),
    ).toEqual([]);
  });
});

async function newEndpoint(key: string): Promise<{ id: string; secret: string }> {
  const { createWebhookEndpoint } = await queryData(
    app,
    `mutation { createWebhookEndpoint(input: { url: "http://127.0.0.1:9/" }) { secret endpoint { id } } }`,
    { key },
  );
  return { id: createWebhookEndpoint.endpoint.id, secret: createWebhookEndpoint.secret };
}

const reveals = (id: string) =>
  app.database.query<Record<string, unknown>>(
    sql`select * from audit_entry where action = 'endpoint.secret_revealed' and subject = ${id}`,
  );

describe("revealWebhookSecret", () => {
  const REVEAL = `mutation ($id: ID!, $password: String!) {
    revealWebhookSecret(id: $id, password: $password) { secret userErrors { code field message } } }`;

  it("returns the signing secret for the user's or operator's password and records it in the audit log", async () => {
    for (const person of [owner, operator]) {
      const { id, secret } = await newEndpoint(agent.key);
      const { revealWebhookSecret } = await person.queryData(REVEAL, { id, password: person.password });
      expect(revealWebhookSecret).toEqual({ secret, userErrors: [] });
      const entries = await reveals(id);
      expect(entries).toMatchObject([{ actor_id: person.id, organization_id: agent.id }]);
      expect(entries[0]?.["request_id"]).toMatch(/^req_/);
      expect(JSON.stringify(entries)).not.toContain(secret);
      expect(JSON.stringify(entries)).not.toContain(person.password);
    }
  });

  it("returns nothing for wrong passwords, records no reveal, and then returns RATE_LIMITED even for the right one", async () => {
    const person = await createSignedInUser(app, agent.id);
    const { id } = await newEndpoint(agent.key);
    const wrong = { secret: null, userErrors: [{ code: "INVALID", field: "password" }] };
    for (let n = 0; n < 10; n += 1) {
      const password = `guess number ${n}`;
      const { revealWebhookSecret } = await person.queryData(REVEAL, { id, password });
      expect(revealWebhookSecret).toMatchObject(wrong);
    }
    const { status, errors } = await person.graphql(REVEAL, { id, password: person.password });
    expect({ status, code: errors?.[0]?.extensions.code }).toEqual({ status: 429, code: "RATE_LIMITED" });
    expect(await reveals(id)).toEqual([]);
  });
});

describe("organizations", () => {
  const LIST = `query ($search: String) { organizations(search: $search, first: 100) { totalCount
    nodes { id name createdAt suspendedAt memberCount } } }`;
  type Node = { id: string; name: string; createdAt: string | null; memberCount: number };

  it("lists them by name, with member count and suspension time", async () => {
    const run = randomBytes(4).toString("hex");
    const [name, other] = [`agent %_\\ ${run}`, `an agent ${run}`];
    await app.organizations.create({ name: other, type: "agent" });
    const { id } = await app.organizations.create({ name, type: "agent" });
    await createSignedInUser(app, id);
    await createSignedInUser(app, id, "dispatcher");
    const uuid = toTypedId("org", id);
    await operator.queryData(
      `mutation { suspendOrganization(id: "${uuid}", reason: "test") { userErrors { code } } }`,
    );
    const { organizations } = await operator.queryData(LIST, { search: run });
    expect(organizations.totalCount).toBe(2);
    expect(organizations.nodes.map((node: Node) => node.name)).toEqual([name, other]);
    expect(organizations.nodes[0]).toMatchObject({
      name,
      memberCount: 2,
      createdAt: expect.any(String),
      suspendedAt: expect.any(String),
    });
  });

  it("searches any part of the name, ignoring case and without wildcards", async () => {
    const run = randomBytes(4).toString("hex");
    const name = `100% ${run} ÄGIR_\\ Logistics`;
    await app.organizations.create({ name, type: "contractor" });
    for (const search of [`${run} ägir`, `${run} ÄGIR_\\ LOGIST`, `100% ${run}`, `${run} ÄGIR_\\`]) {
      const { organizations } = await operator.queryData(LIST, { search });
      expect(organizations.nodes.map((node: Node) => node.name)).toEqual([name]);
    }
    const none = await operator.queryData(LIST, { search: `100_ ${run}` });
    expect(none.organizations).toEqual({ totalCount: 0, nodes: [] });
  });

  it("returns 400 for a search text that PostgreSQL cannot compare", async () => {
    for (const search of ["a\u0000b", "\ud800"])
      expect((await operator.graphql(LIST, { search })).errors).toMatchObject([
        { extensions: { code: "BAD_USER_INPUT", problems: [{ field: "search" }] } },
      ]);
  });

  it("shows only name and type to others", async () => {
    const contractor = await app.createOrganization("contractor");
    const [number] = await app.createJobs(agent, [{ contractor }]);
    const person = await createSignedInUser(app, contractor.id);
    const { job } = await person.queryData(`{ job(markingNumber: "${number}") {
      agent { name createdAt suspendedAt memberCount } contractor { name createdAt suspendedAt memberCount } } }`);
    expect(job).toEqual({
      agent: { name: agent.name, createdAt: null, suspendedAt: null, memberCount: null },
      contractor: {
        name: contractor.name,
        createdAt: expect.any(String),
        suspendedAt: null,
        memberCount: null,
      },
    });
  });
});

it("failingWebhookEndpoints lists disabled and failing endpoints of all organisations, longest failing first", async () => {
  const [first, second] = [await app.createOrganization("agent"), await app.createOrganization("contractor")];
  const ids: string[] = [];
  for (const { key } of [first, second, first, second, first]) ids.push((await newEndpoint(key)).id);
  const states = [
    "status = 'disabled', disabled_reason = 'gone', status_since = now() - interval '2 days'",
    "failing_since = now() - interval '3 days'",
    "status = 'paused', failing_since = now() - interval '9 days'",
    "status = 'disabled', disabled_reason = 'failing', failing_since = now() - interval '8 days', status_since = now()",
    "status_since = now() - interval '9 days'",
  ];
  for (const [index, state] of states.entries())
    await app.database.query(
      sql`update webhook_endpoint set ${raw(state)} where id = ${fromTypedId("whe", ids[index] ?? "")}::uuid`,
    );
  const { failingWebhookEndpoints } = await operator.queryData(
    "{ failingWebhookEndpoints { id status organization { name } } }",
  );
  const own = failingWebhookEndpoints.filter(({ id }: { id: string }) => ids.includes(id));
  expect(own).toEqual([
    { id: ids[3], status: "DISABLED", organization: { name: second.name } },
    { id: ids[1], status: "ACTIVE", organization: { name: second.name } },
    { id: ids[0], status: "DISABLED", organization: { name: first.name } },
  ]);
});
