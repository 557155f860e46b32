/** Test keys: who can create them, and what they see. */
import { describe, expect, it } from "vitest";
import { sql } from "../../../src/core/postgres/sql.ts";
import { toTypedId } from "../../../src/core/ids.ts";
import { expectFailure } from "../../support/app/assertions.ts";
import { sharedApp } from "../../support/app/shared-app.ts";
import { eventually } from "../../support/eventually.ts";
import { suspend } from "../../support/app/suspend.ts";

const app = await sharedApp();
const agent = await app.createOrganization("agent");

interface CreatedKey {
  api_key: { id: string; prefix: string; mode: string; scopes: string[] };
  secret: string;
}

function post(path: string, key: string, body: object) {
  return app.call(path, { key, method: "POST", body: JSON.stringify(body) });
}

async function createKey(key: string, body: object = {}): Promise<CreatedKey> {
  const { status, body: answer } = await post("/v1/api-keys", key, { name: "Test", mode: "test", ...body });
  expect(status).toBe(201);
  return answer.data as CreatedKey;
}

const meOf = async (key: string) =>
  (await app.call("/v1/me", { key })).body.data as {
    mode: string;
    organization: { id: string; type: string };
  };

describe("POST /v1/api-keys with mode: test", () => {
  it("creates a key that starts with wmk_test_ and belongs to a test organisation", async () => {
    const { api_key, secret } = await createKey(agent.key);
    expect(secret).toMatch(/^wmk_test_[0-9a-z]{8}_[\w-]{49}$/);
    expect(api_key).toMatchObject({ prefix: secret.slice(0, 17), mode: "test" });
    const me = await meOf(secret);
    expect(me).toMatchObject({ mode: "test", organization: { type: "agent", name: agent.name } });
    expect(me.organization.id).not.toBe(toTypedId("org", agent.id));
    expect((await meOf(agent.key)).mode).toBe("live");
  });

  it("creates keys for both sides of test jobs, each always of the same organisation", async () => {
    const sides = await Promise.all(
      ["agent", "contractor", "agent", "contractor"].map(async (organization_type) => {
        const { secret } = await createKey(agent.key, { organization_type });
        return (await meOf(secret)).organization;
      }),
    );
    expect(sides.map(({ type }) => type)).toEqual(["agent", "contractor", "agent", "contractor"]);
    expect(new Set(sides.map(({ id }) => id)).size).toBe(2);
  });

  it("a test key creates test keys by default, sees those of both sides, and can revoke them", async () => {
    const partner = await app.createOrganization("agent");
    const { secret, api_key } = await createKey(partner.key, { scopes: ["keys:manage", "jobs:read"] });
    const { api_key: other } = await createKey(secret, { mode: null, organization_type: "contractor" });
    expect(other.mode).toBe("test");
    const { body } = await app.call("/v1/api-keys", { key: secret });
    expect((body.data as { items: { id: string }[] }).items.map(({ id }) => id)).toEqual([
      api_key.id,
      other.id,
    ]);
    const revoked = await app.call(`/v1/api-keys/${other.id}`, { key: secret, method: "DELETE" });
    expect(revoked.status).toBe(200);
  });

  it("403: a test key cannot create a live key", async () => {
    const { secret } = await createKey(agent.key, { scopes: ["keys:manage"] });
    const refused = await post("/v1/api-keys", secret, { name: "Live", mode: "live" });
    expectFailure(refused, 403, "A test key can create only test keys");
  });

  it.each([
    [{ mode: "real" }, "mode must be one of live, test"],
    [{ organization_type: "contractor" }, "organization_type is only allowed with mode: test"],
    [{ mode: "test", organization_type: "carrier" }, "organization_type must be one of agent, contractor"],
  ])("400: %j", async (members, message) => {
    expectFailure(await post("/v1/api-keys", agent.key, { name: "x", ...members }), 400, message);
  });

  it("a live key lists and revokes the test keys of its organisation", async () => {
    const { api_key } = await createKey(agent.key);
    const { body } = await app.call("/v1/api-keys", { key: agent.key });
    expect(body.data.items).toContainEqual(api_key);
    const path = `/v1/api-keys/${api_key.id}`;
    expect((await app.call(path, { key: agent.key, method: "DELETE" })).status).toBe(200);
  });

  it("revoking the live key with include_created_keys revokes its test keys", async () => {
    const { secret, api_key } = await createKey(agent.key, { mode: "live", scopes: ["keys:manage"] });
    const test = await createKey(secret, { scopes: ["keys:manage"] });
    const { body } = await app.call(`/v1/api-keys/${api_key.id}?include_created_keys=true`, {
      key: agent.key,
      method: "DELETE",
    });
    expect(body.data).toMatchObject({ also_revoked: [{ id: test.api_key.id }] });
    await eventually(async () => expect((await app.call("/v1/me", { key: test.secret })).status).toBe(401));
  });
});

const limitsOf = async (id: string) => (await app.keys.find(id))?.rateLimits;

const perSecond = { perSecond: 1, burst: 1 };
const rateLimits = { read: perSecond, write: perSecond, batch: perSecond };

it.each(["agent", "contractor"])(
  "a test key has the limits of the live key that creates it, %s side",
  async (organization_type) => {
    const limited = await app.createOrganization("agent", {
      scopes: ["keys:manage", "jobs:read"],
      rateLimits,
    });
    const test = await createKey(limited.key, {
      organization_type,
      scopes: ["keys:manage", "jobs:read"],
    });
    const ofOtherSide = await createKey(test.secret, { organization_type: "contractor" });
    expect(await Promise.all([test, ofOtherSide].map(({ api_key }) => limitsOf(api_key.id)))).toEqual([
      rateLimits,
      rateLimits,
    ]);
  },
);

/** The status, the headers and the body as text, without what differs from one answer to the next. */
async function answerTo(method: string, path: string, key: string) {
  const { status, headers, text } = await app.request(path, { method, key });
  const { "x-request-id": _id, date: _date, ...rest } = headers as Record<string, string>;
  return { status, headers: rest, text: text?.replaceAll(/req_\w+/g, "req_") };
}

describe("a route of test mode", () => {
  const paths = ["jobs", "jobs/by-marking/TEST-1/run", "events/job.updated", "events/%E0%A4", "reset"];
  it.each(paths.map((path) => `/v1/test/${path}`))("is an unknown route for a live key: %s", async (path) => {
    for (const method of ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
      const unknown = await answerTo(method, "/v1/unknown", agent.key);
      expect(unknown.status).toBe(404);
      expect(await answerTo(method, path, agent.key)).toEqual(unknown);
    }
  });
});

it("suspending the live organisation suspends its test keys, also those created later", async () => {
  const suspended = await app.createOrganization("agent");
  const { secret } = await createKey(suspended.key);
  await suspend(app.database, suspended.id);
  await eventually(async () => expect((await app.call("/v1/me", { key: secret })).status).toBe(403));
  const late = await app.keys.create({
    organizationId: suspended.id,
    name: "late",
    createdBy: "test",
    testSide: "contractor",
  });
  expect((await app.call("/v1/me", { key: late.text })).status).toBe(403);
  await suspend(app.database, suspended.id, false);
  await eventually(async () => expect((await app.call("/v1/me", { key: secret })).status).toBe(200));
});

describe("live and test jobs", () => {
  it("live jobs cannot get a test organisation or a test Marking Number", async () => {
    const { secret } = await createKey(agent.key, { organization_type: "contractor" });
    const { organization } = await meOf(secret);
    const operator = await app.keys.create({ organizationId: null, name: "operator", createdBy: "test" });
    const create = async (job: object) => {
      const query = `mutation ($job: CreateJobInput!) {
        createJobs(items: [$job]) { createdCount userErrors { message } } }`;
      const variables = { job: { agentId: toTypedId("org", agent.id), ...job } };
      return JSON.stringify((await post("/graphql", operator.text, { query, variables })).body);
    };
    expect(await create({ markingNumber: "MN-LIVE-1", contractorId: organization.id })).toContain(
      "must be the id of a contractor",
    );
    expect(await create({ markingNumber: "TEST-LIVE-1" })).toContain("must not start with TEST-");
    expect(await app.organizations.find(organization.id)).toBeNull();
  });

  it("an organisation's name is unique among live ones only", async () => {
    const partner = await app.createOrganization("agent");
    await createKey(partner.key, {});
    const names = await app.database.query<{ name: string; count: number }>(sql`
      select name, count(*)::int as count from organization where name = ${partner.name} group by name`);
    expect(names).toEqual([{ name: partner.name, count: 2 }]);
    expect((await app.organizations.list()).filter(({ name }) => name === partner.name)).toHaveLength(1);
    expect((await app.organizations.get(partner.name)).id).toBe(partner.id);
    await expect(app.organizations.create({ name: partner.name, type: "agent" })).rejects.toThrow(
      "already exists",
    );
  });
});
