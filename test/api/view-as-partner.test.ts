/** An operator sees what the viewers of an organisation see, and changes nothing. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { toTypedId } from "../../src/core/ids.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import { expectData } from "../support/app/assertions.ts";
import { startTestApp } from "../support/app/app.fixture.ts";
import { startAppInstance } from "../support/app/app-instance.ts";
import { createSignedInUser, type SignedInTestUser } from "../support/accounts/signed-in-user.ts";
import { graphql } from "../support/graphql/client.ts";

const app = await startTestApp();
const [agent, other] = [await app.createOrganization("agent"), await app.createOrganization("agent")];
const operator = await createSignedInUser(app, null);
const owner = await createSignedInUser(app, agent.id);
await app.createJobs(agent, [{ markingNumber: "SEEN-1" }]);
await app.createJobs(other, [{ markingNumber: "UNSEEN-1" }]);
afterAll(() => app[Symbol.asyncDispose]());

const VIEW = `mutation ($id: ID!) { viewAsOrganization(id: $id) { organization { name } userErrors { code } } }`;

const view = (user: SignedInTestUser, { id }: { id: string }) =>
  user.graphql(VIEW, { id: toTypedId("org", id) });

/** As the console sends it while the operator views an organisation. */
const asPartner = (user: SignedInTestUser, query: string) =>
  graphql(app, query, { headers: { ...user.headers, "x-waymark-mode": "partner" } });

const TEST_KEY = { organizationId: agent.id, name: "test", createdBy: "test", testSide: "agent" } as const;
const JOBS = "{ viewer { kind organization { name } } jobs { nodes { markingNumber } } }";

describe("an operator who views an organisation", () => {
  beforeAll(() => view(operator, agent));

  it("sees its jobs, and in other requests all jobs", async () => {
    expect((await asPartner(operator, JOBS)).data).toEqual({
      viewer: { kind: "AGENT", organization: { name: agent.name } },
      jobs: { nodes: [{ markingNumber: "SEEN-1" }] },
    });
    const { jobs, viewer } = await operator.queryData(JOBS);
    expect(viewer.kind).toBe("OPERATOR");
    expect(jobs.nodes).toHaveLength(2);
  });

  it.each([
    [
      "changes a job",
      `mutation { updateJob(input: { markingNumber: "SEEN-1", patch: { weight: 1 } }) { userErrors { code } } }`,
    ],
    [
      "invites a member",
      `mutation { inviteMember(input: { email: "a@b.example" }) { userErrors { code } } }`,
    ],
    [
      "changes its own notifications, as viewers can",
      `mutation { setNotifications(choices: [{ kind: LATE_JOBS, mail: true, webhook: false }]) { userErrors { code } } }`,
    ],
    ["lists keys", "{ apiKeys { id } }"],
    ["lists all organisations", "{ organizations { nodes { id } } }"],
    ["views another organisation", `mutation { viewAsOrganization(id: "org_x") { userErrors { code } } }`],
  ])("is refused when it %s", async (_what, query) => {
    const { errors } = await asPartner(operator, query);
    expect(errors?.[0]?.extensions.code).toBe("FORBIDDEN");
  });

  it("is known to /auth/session, and sees another organisation after choosing it", async () => {
    const mine = await createSignedInUser(app, null);
    expect(expectData(await mine.client.get("/auth/session")).viewed).toBeNull();
    expect((await asPartner(mine, JOBS)).status).toBe(403);
    await view(mine, agent);
    await view(mine, other);
    expect(expectData(await mine.client.get("/auth/session"))).toMatchObject({
      viewed: { id: toTypedId("org", other.id), name: other.name, type: "agent", time_zone: "UTC" },
      organization: null,
      user: { role: "operator" },
    });
    expect((await asPartner(mine, JOBS)).data.jobs.nodes).toEqual([{ markingNumber: "UNSEEN-1" }]);
  });

  it("is in the audit log, whose owners see that an operator looked", async () => {
    const log = "{ auditLog(first: 5) { nodes { action actor } } }";
    const { auditLog } = await owner.queryData(log);
    expect(auditLog.nodes).toContainEqual({ action: "organization.viewed", actor: "operator" });
  });
});

it.each([
  ["a test organisation", async () => (await app.keys.create(TEST_KEY)).key.organization?.id ?? ""],
  ["an unknown organisation", async () => "00000000-0000-7000-8000-000000000000"],
])("viewing %s is NOT_FOUND", async (_what, id) => {
  const { data } = await view(operator, { id: await id() });
  expect(data?.viewAsOrganization).toMatchObject({ userErrors: [{ code: "NOT_FOUND" }] });
});

it("a user of an organisation cannot view another one, also with a viewed organisation in the session", async () => {
  expect((await view(owner, other)).errors?.[0]?.extensions.code).toBe("FORBIDDEN");
  await app.database.query(
    sql`update user_session set viewed_organization_id = ${other.id}::uuid where user_id = ${owner.id}::uuid`,
  );
  expect((await asPartner(owner, JOBS)).status).toBe(403);
});

it("an operator who must first turn on two-factor authentication sees nothing", async () => {
  await using strict = await startAppInstance(app.databaseUrl, { REQUIRE_TWO_FACTOR: "operators" });
  const weak = await createSignedInUser(strict, null);
  await app.database.query(
    sql`update user_session set viewed_organization_id = ${agent.id}::uuid where user_id = ${weak.id}::uuid`,
  );
  const headers = { ...weak.headers, "x-waymark-mode": "partner" };
  expect((await graphql(strict, JOBS, { headers })).status).toBe(403);
});
