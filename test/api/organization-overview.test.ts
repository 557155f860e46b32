/** The overview of an organisation, its activity, and the list of those that need attention, for operators. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { toTypedId } from "../../src/core/ids.ts";
import { raw, sql } from "../../src/core/postgres/sql.ts";
import { createSignedInUser } from "../support/accounts/signed-in-user.ts";
import { startTestApp } from "../support/app/app.fixture.ts";
import { graphql } from "../support/graphql/client.ts";

const app = await startTestApp({ WAYMARK_ROLE: "api", RATE_LIMITS: "on", WEBHOOK_ALLOW_PRIVATE: "on" });
const [agent, contractor] = [
  await app.createOrganization("agent"),
  await app.createOrganization("contractor"),
];
const operator = await createSignedInUser(app, null);
const owner = await createSignedInUser(app, agent.id);
const testKey = await app.keys.create({
  organizationId: agent.id,
  name: "test",
  createdBy: "test",
  testSide: "agent",
});
afterAll(() => app[Symbol.asyncDispose]());

beforeAll(async () => {
  await owner.queryData(
    `mutation { inviteMember(input: { email: "new@test.example" }) { userErrors { code } } }`,
  );
  await app.createJobs(agent, [
    { contractor, patch: { scheduled_date: "2020-01-01" } },
    { patch: { scheduled_date: "2020-01-01", normalized_status: "completed" } },
    { patch: { scheduled_date: "2040-01-01" } },
  ]);
  await app.createJobs(await app.createOrganization("agent"), [{ patch: { scheduled_date: "2020-01-01" } }]);
  await app.database.query(sql`
    insert into webhook_endpoint (id, organization_id, url, secrets, created_by, status, failing_since, deleted_at)
    select gen_random_uuid(), ${agent.id}::uuid, 'https://' || name, '[]', 'test', status, failing_since, deleted_at
    from (values ('works', 'active', null, null), ('fails', 'active', now(), null), ('off', 'disabled', null, null),
      ('paused', 'paused', now(), null), ('deleted', 'disabled', null, now()))
      endpoint (name, status, failing_since, deleted_at)`);
  await app.database.query(sql`
    insert into request_usage (organization_id, day, key_id, succeeded, refused, limited, failed, duration_ms)
    select ${agent.id}::uuid, (now() at time zone 'UTC')::date - age, gen_random_uuid(), 5, 3, 2, 1, 10
    from unnest('{0, 6, 7, 29, 30}'::int[]) age`);
});

const OVERVIEW = `query ($id: ID!) { organizationOverview(id: $id) {
  organization { id activity { lastRequestAt lastSeenAt failingEndpoints requests { succeeded refused limited failed } } }
  members { email role lastSeenAt hasTwoFactor } invitations { email } apiKeys { mode name } webhookEndpoints { url }
  jobs { total open late createdInWeek } requestsInWeek { succeeded refused limited failed }
  requestsInMonth { succeeded refused limited failed } limits { name used max } rateLimits { class perSecond organization { perSecond } } } }`;

const overviewOf = async (id: string) =>
  (await operator.queryData(OVERVIEW, { id: toTypedId("org", id) })).organizationOverview;

describe("organizationOverview", () => {
  it("has the members, invitations, live and test keys, and endpoints of the organisation only", async () => {
    const overview = await overviewOf(agent.id);
    expect(overview.members.map(({ email }: { email: string }) => email)).toEqual([owner.email]);
    expect(overview.invitations).toEqual([{ email: "new@test.example" }]);
    expect(overview.apiKeys.map(({ mode }: { mode: string }) => mode)).toEqual(["LIVE", "TEST"]);
    const urls = overview.webhookEndpoints.map(({ url }: { url: string }) => url).toSorted();
    expect(urls).toEqual(["https://fails", "https://off", "https://paused", "https://works"]);
    expect(overview.rateLimits).toHaveLength(3);
  });

  it("counts the jobs that an agent owns and that a contractor is assigned to", async () => {
    const { jobs } = await overviewOf(agent.id);
    expect(jobs).toEqual({ total: 3, open: 2, late: 1, createdInWeek: 3 });
    const { jobs: assigned } = await overviewOf(contractor.id);
    expect(assigned).toEqual({ total: 1, open: 1, late: 1, createdInWeek: 1 });
  });

  it("counts requests of 7 and 30 days, including today", async () => {
    const { requestsInWeek, requestsInMonth } = await overviewOf(agent.id);
    expect(requestsInWeek).toEqual({ succeeded: 10, refused: 6, limited: 4, failed: 2 });
    expect(requestsInMonth).toEqual({ succeeded: 20, refused: 12, limited: 8, failed: 4 });
  });

  it("says how much of its limits the organisation uses, without what has ended", async () => {
    for (const ending of ["revoked_at", "expires_at"] as const) {
      const { key } = await app.keys.create({ organizationId: agent.id, name: ending, createdBy: "test" });
      await app.database.query(sql`update api_key set ${raw(ending)} = now() where id = ${key.id}::uuid`);
    }
    const { limits } = await overviewOf(agent.id);
    expect(limits).toEqual([
      { name: "API_KEYS", used: 1, max: 100 },
      { name: "WEBHOOK_ENDPOINTS", used: 4, max: 50 },
      { name: "INVITATIONS", used: 1, max: 100 },
    ]);
  });

  it("has the last use of the API and of the console, and the endpoints that fail", async () => {
    await app.database.query(sql`
      update api_key set last_used_at = '2026-11-01T10:00:00Z' where organization_id in
        (select id from organization where live_organization_id = ${agent.id}::uuid)`);
    await app.database.query(sql`
      update user_account set last_seen_at = '2026-11-02T10:00:00Z' where organization_id = ${agent.id}::uuid`);
    const { activity } = (await overviewOf(agent.id)).organization;
    expect(activity).toEqual({
      lastRequestAt: "2026-11-01T10:00:00.000Z",
      lastSeenAt: "2026-11-02T10:00:00.000Z",
      failingEndpoints: 2,
      requests: { succeeded: 10, refused: 6, limited: 4, failed: 2 },
    });
  });

  it("is null for an unknown ID and for a test organisation", async () => {
    expect(await overviewOf(testKey.key.organization?.id as string)).toBeNull();
    const { organizationOverview } = await operator.queryData(OVERVIEW, { id: "org_nonsense" });
    expect(organizationOverview).toBeNull();
  });

  it("is refused to an operator's key without webhooks:manage", async () => {
    const scopes = ["jobs:read"] as const;
    const key = await app.createKey(null, { scopes });
    const { errors } = await graphql(app, OVERVIEW, { key, variables: { id: toTypedId("org", agent.id) } });
    expect(errors?.map(({ extensions }) => extensions.code)).toEqual(["FORBIDDEN"]);
  });
});

it("Organization.activity is null for an organisation, also its own", async () => {
  const query = "{ viewer { organization { id activity { failingEndpoints } } } }";
  const { viewer } = await owner.queryData(query);
  expect(viewer.organization.activity).toBeNull();
});

const itemsOf = async (id: string) => {
  const query = `{ organizationsNeedingAttention {
    organization { id } reason endpointId subject requests refused at } }`;
  const { organizationsNeedingAttention: all } = await operator.queryData(query);
  return all.filter(
    ({ organization }: { organization: { id: string } }) => organization.id === toTypedId("org", id),
  );
};
const reasonsOf = async (id: string) => (await itemsOf(id)).map(({ reason }: { reason: string }) => reason);

const withUsage = async (succeeded: number, refused: number, age = 0): Promise<string> => {
  const { id } = await app.createOrganization("contractor");
  await app.database.query(sql`
    insert into request_usage (organization_id, day, key_id, succeeded, refused, failed, duration_ms)
    values (${id}::uuid, (now() at time zone 'UTC')::date - ${age}::int, gen_random_uuid(), ${succeeded}, ${refused}, 0, 1)`);
  return id;
};

describe("organizationsNeedingAttention", () => {
  it("names each disabled and failing endpoint, but not paused and deleted ones", async () => {
    const items = await itemsOf(agent.id);
    expect(items.map((item: { reason: string; subject: string }) => [item.reason, item.subject])).toEqual([
      ["ENDPOINT_DISABLED", "https://off"],
      ["ENDPOINT_FAILING", "https://fails"],
    ]);
    expect(items[0].endpointId).toMatch(/^whe_/);
  });

  it.each([
    ["half of 20 requests", [10, 10], []],
    ["more than half of 20 requests", [9, 11], ["REQUESTS_REFUSED"]],
    ["all of 19 requests", [0, 19], []],
    ["all of 20 requests a week ago", [0, 20, 7], []],
  ] as const)("with 4xx for %s", async (_what, [succeeded, refused, age], expected) => {
    expect(await reasonsOf(await withUsage(succeeded, refused, age))).toEqual(expected);
  });

  it.each([
    ["last_used_at", "-1 day", []],
    ["last_used_at", "-8 days", ["REQUESTS_STOPPED"]],
    ["last_used_at", "-91 days", []],
    ["expires_at", "13 days", ["KEY_EXPIRING"]],
    ["expires_at", "15 days", []],
    ["expires_at", "-1 day", []],
  ])("for keys whose %s is %s from now", async (column, age, expected) => {
    const { id } = await app.createOrganization("contractor");
    await app.database.query(sql`
      update api_key set ${raw(column)} = now() + ${age}::interval where organization_id = ${id}::uuid`);
    expect(await reasonsOf(id)).toEqual(expected);
  });

  it("leaves out suspended organisations", async () => {
    const id = await withUsage(0, 50);
    await app.database.query(sql`update organization set suspended_at = now() where id = ${id}::uuid`);
    expect(await reasonsOf(id)).toEqual([]);
  });
});
