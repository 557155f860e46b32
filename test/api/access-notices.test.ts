/** Audit entries and mails about changes of API keys and webhook endpoints. */
import { describe, expect, it } from "vitest";
import { MAX_NOTICES_PER_HOUR } from "../../src/mail/access-notices.ts";
import { fromTypedId, toTypedId } from "../../src/core/ids.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import { listMailsTo } from "../support/accounts/mails.ts";
import { headingInGuide } from "../support/docs/guide-pages.ts";
import { createSignedInUser, type SignedInTestUser } from "../support/accounts/signed-in-user.ts";
import { queryData } from "../support/graphql/client.ts";
import type { TestOrganization } from "../support/app/app.fixture.ts";
import { sharedApp } from "../support/app/shared-app.ts";

const app = await sharedApp("api");

async function place(): Promise<{ partner: TestOrganization; owner: SignedInTestUser }> {
  const partner = await app.createOrganization("agent");
  return { partner, owner: await createSignedInUser(app, partner.id) };
}

async function actionsOf(
  owner: SignedInTestUser,
): Promise<{ action: string; actor: string; subject: string }[]> {
  const { auditLog } = await owner.queryData(
    "{ auditLog(first: 50) { nodes { action actor subject details ipAddress requestId } } }",
  );
  const nodes = auditLog.nodes as { action: string; actor: string; subject: string }[];
  return nodes.filter(({ action }) => /^(key|endpoint)\./.test(action)).toReversed();
}

const noticesTo = async ({ email }: SignedInTestUser) =>
  (await listMailsTo(app, email)).filter(({ kind }) => kind === "access_changed");

async function createEndpoint(
  { headers }: Pick<SignedInTestUser, "headers">,
  url = "http://127.0.0.1:9/",
): Promise<string> {
  const create = `mutation { createWebhookEndpoint(input: { url: "${url}" }) { endpoint { id } } }`;
  return (await queryData(app, create, { headers })).createWebhookEndpoint.endpoint.id;
}

const CREATE_KEY =
  'mutation { createApiKey(input: { name: "till" }) { apiKey { id prefix } userErrors { message } } }';

describe("keys", () => {
  // evidence: key-changes-audited-and-mailed
  it("created, rotated and revoked by an owner appear in the audit log and in mails to owners", async () => {
    const { owner } = await place();
    const { createApiKey } = await owner.queryData(CREATE_KEY);
    const { id, prefix } = createApiKey.apiKey as { id: string; prefix: string };
    const rotated = await owner.queryData(
      `mutation { rotateApiKey(id: "${id}", graceHours: 1) { apiKey { id } userErrors { message } } }`,
    );
    const revoke = `mutation { revokeApiKey(id: "${id}") { apiKey { id } userErrors { message } } }`;
    await owner.queryData(revoke);
    await owner.queryData(revoke);
    expect(await actionsOf(owner)).toMatchObject([
      {
        action: "key.created",
        actor: owner.email,
        subject: id,
        details: { name: "till", prefix },
        requestId: expect.any(String),
      },
      { action: "key.rotated", subject: rotated.rotateApiKey.apiKey.id, details: { replaces: prefix } },
      { action: "key.revoked", subject: id },
    ]);
    const mails = await noticesTo(owner);
    expect(mails.map(({ subject }) => subject)).toEqual([
      `An API key was created: till (${prefix})`,
      expect.stringMatching(/^An API key was rotated: till \(wmk_/),
      `An API key was revoked: till (${prefix})`,
    ]);
    for (const { text } of mails) {
      const [, target = ""] = /\/guide\/(\S+)/.exec(text) ?? [];
      expect(await headingInGuide(target)).toBe("If a key leaks");
    }
  });

  it("created by a key name that key, and created by the CLI name the operator", async () => {
    const { partner, owner } = await place();
    await queryData(app, CREATE_KEY, { key: partner.key });
    const [first] = await app.keys.list(partner.id);
    const by = { actor: { type: "system", id: null }, ipAddress: null, requestId: null } as const;
    await app.keys.create({ organizationId: partner.id, name: "of the operator", createdBy: "cli" }, by);
    expect(await actionsOf(owner)).toMatchObject([
      { action: "key.created", actor: toTypedId("key", first?.id ?? "") },
      { action: "key.created", actor: "operator" },
    ]);
  });

  it("are revoked on request with the keys that they created, directly or by a key that is revoked already", async () => {
    const { partner, owner } = await place();
    const createBy = async (key: string) => {
      const query =
        'mutation { createApiKey(input: { name: "n", scopes: [KEYS_MANAGE] }) { apiKey { id } secret } }';
      const { createApiKey } = await queryData(app, query, { key });
      return { id: createApiKey.apiKey.id as string, secret: createApiKey.secret as string };
    };
    const [first] = await app.keys.list(partner.id);
    const second = await createBy(partner.key);
    const third = await createBy(second.secret);
    const fourth = await createBy(third.secret);
    await owner.queryData(CREATE_KEY);
    await owner.queryData(`mutation { revokeApiKey(id: "${second.id}") { userErrors { message } } }`);
    const { revokeApiKey } = await owner.queryData(
      `mutation { revokeApiKey(id: "${toTypedId("key", first?.id ?? "")}", includeCreatedKeys: true) { alsoRevoked { id } } }`,
    );
    expect(revokeApiKey.alsoRevoked).toEqual([{ id: third.id }, { id: fourth.id }]);
    const left = (await app.keys.list(partner.id)).filter(({ revokedAt }) => !revokedAt);
    expect(left.map(({ name }) => name)).toEqual(["till"]);
  });
});

// evidence: endpoint-changes-audited
it("endpoints are recorded by host when created, changed, moved, rotated and deleted", async () => {
  const { owner } = await place();
  const id = await createEndpoint(owner, "http://127.0.0.1:9/token");
  const update = (patch: string): Promise<unknown> =>
    owner.queryData(
      `mutation { updateWebhookEndpoint(id: "${id}", patch: { ${patch} }) { endpoint { id } } }`,
    );
  await update('description: "shop"');
  await update('url: "http://127.0.0.1:10/token"');
  await owner.queryData(`mutation { rotateWebhookSecret(id: "${id}") { endpoint { id } } }`);
  await owner.queryData(`mutation { deleteWebhookEndpoint(id: "${id}") { deletedId } }`);
  const acts = await actionsOf(owner);
  expect(acts).toMatchObject([
    { action: "endpoint.created", subject: id, details: { host: "127.0.0.1:9" } },
    { action: "endpoint.changed", details: { settings: ["description"] } },
    { action: "endpoint.url_changed", details: { host: "127.0.0.1:10", former_host: "127.0.0.1:9" } },
    { action: "endpoint.secret_rotated" },
    { action: "endpoint.deleted" },
  ]);
  expect(JSON.stringify(acts)).not.toContain("token");
});

it("paused, resumed and otherwise changed endpoints, and replays, appear in the audit log without a mail", async () => {
  const { partner, owner } = await place();
  const id = await createEndpoint(owner);
  const mailed = (await noticesTo(owner)).length;
  const change = (mutation: string): Promise<unknown> => owner.queryData(`mutation { ${mutation} }`);
  await change(
    `updateWebhookEndpoint(id: "${id}", patch: { description: "x", eventTypes: [JOB_CREATED], maxInFlight: 8,
      headers: [{ name: "X-Token", value: "secret" }] }) { userErrors { code } }`,
  );
  await change(`updateWebhookEndpoint(id: "${id}", patch: { description: "x" }) { userErrors { code } }`);
  await change(`pauseWebhookEndpoint(id: "${id}") { userErrors { code } }`);
  await change(`pauseWebhookEndpoint(id: "${id}") { userErrors { code } }`);
  await change(`resumeWebhookEndpoint(id: "${id}") { userErrors { code } }`);
  await app.createJobs(partner, [{}]);
  await app.database.query(sql`
    update webhook_delivery set status = 'failed', attempts = 10, finished_at = now()
    where endpoint_id = ${fromTypedId("whe", id)}`);
  await change(`replayDeliveries(endpointId: "${id}", only: FAILED) { userErrors { code } }`);
  expect((await actionsOf(owner)).slice(1)).toMatchObject([
    { action: "endpoint.changed", details: { settings: ["description", "event_types", "headers"] } },
    { action: "endpoint.paused", subject: id },
    { action: "endpoint.resumed", details: { from: "paused" } },
    { action: "endpoint.replayed", details: { which: "failed", replayed: 1 } },
  ]);
  expect(await noticesTo(owner)).toHaveLength(mailed);
});

it("changes in test mode appear in the live organisation's audit log, without a mail", async () => {
  const { owner } = await place();
  // Creates the test organisations.
  await owner.queryData(`mutation { createApiKey(input: { name: "test", mode: TEST }) { apiKey { id } } }`);
  const id = await createEndpoint({ headers: { ...owner.headers, "x-waymark-mode": "test" } });
  expect((await actionsOf(owner)).slice(1)).toMatchObject([
    { action: "endpoint.created", subject: id, details: { mode: "test" } },
  ]);
  expect((await noticesTo(owner)).map(({ subject }) => subject)).toEqual([
    expect.stringMatching("An API key was created"),
  ]);
});

it("many changes of one kind use up the mails about that kind only, which a mail says", async () => {
  const { owner } = await place();
  const changes = 2 * MAX_NOTICES_PER_HOUR;
  for (let index = 0; index < changes; index += 1) await owner.queryData(CREATE_KEY);
  await createEndpoint(owner);
  expect(await actionsOf(owner)).toHaveLength(changes + 1);
  const subjects = (await noticesTo(owner)).map(({ subject }) => subject.replace(/: (till|127).*$/, ""));
  expect(subjects).toEqual([
    ...Array.from({ length: MAX_NOTICES_PER_HOUR }, () => "An API key was created"),
    `${MAX_NOTICES_PER_HOUR + 1} changes within an hour: An API key was created`,
    "A webhook endpoint was created",
  ]);
});
