/** Audit entries and mails about changes of API keys and webhook endpoints. */
import { beforeAll, describe, expect, it } from "vitest";
import { MAX_NOTICES_PER_HOUR } from "../../src/mail/access-notices.ts";
import { toTypedId } from "../../src/platform/ids.ts";
import { listMailsTo } from "../support/accounts/mails.ts";
import { headingInGuide } from "../support/docs/guide-pages.ts";
import { createSignedInUser, type SignedInTestUser } from "../support/accounts/signed-in-user.ts";
import { queryData } from "../support/graphql/client.ts";
import type { TestOrganization } from "../support/app/app.fixture.ts";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";

let app: SharedApp;
beforeAll(async () => {
  app = await sharedApp("api");
});

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
    const mails = (await listMailsTo(app, owner.email)).filter(({ kind }) => kind === "access_changed");
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

  it("are revoked on request with the keys that they created, directly or indirectly", async () => {
    const { partner, owner } = await place();
    const makeBy = async (key: string): Promise<string> => {
      const query = 'mutation { createApiKey(input: { name: "n", scopes: [KEYS_MANAGE] }) { secret } }';
      return (await queryData(app, query, { key })).createApiKey.secret as string;
    };
    const second = await makeBy(partner.key);
    await makeBy(second);
    await owner.queryData(CREATE_KEY);
    const [first] = await app.keys.list(partner.id);
    const query = `mutation { revokeApiKey(id: "${toTypedId("key", first?.id ?? "")}", includeCreatedKeys: true) {
      apiKey { revokedAt } alsoRevoked { name revokedAt } userErrors { message } } }`;
    const { revokeApiKey } = await owner.queryData(query);
    expect(revokeApiKey.alsoRevoked).toHaveLength(2);
    const left = (await app.keys.list(partner.id)).filter(({ revokedAt }) => !revokedAt);
    expect(left.map(({ name }) => name)).toEqual(["till"]);
  });
});

it("a key created by a revoked key is revoked with that key's creator", async () => {
  const { partner, owner } = await place();
  const created = async (key: string): Promise<{ id: string; secret: string }> => {
    const query =
      'mutation { createApiKey(input: { name: "n", scopes: [KEYS_MANAGE] }) { apiKey { id } secret } }';
    const { createApiKey } = await queryData(app, query, { key });
    return { id: createApiKey.apiKey.id, secret: createApiKey.secret };
  };
  const [first] = await app.keys.list(partner.id);
  const second = await created(partner.key);
  const third = await created(second.secret);
  await owner.queryData(`mutation { revokeApiKey(id: "${second.id}") { userErrors { message } } }`);
  const { revokeApiKey } = await owner.queryData(
    `mutation { revokeApiKey(id: "${toTypedId("key", first?.id ?? "")}", includeCreatedKeys: true) { alsoRevoked { id } } }`,
  );
  expect(revokeApiKey.alsoRevoked).toEqual([{ id: third.id }]);
});

describe("endpoints", () => {
  // evidence: endpoint-changes-audited
  it("are recorded by host when created, moved, rotated and deleted, and not for other changes", async () => {
    const { owner } = await place();
    const create =
      'mutation { createWebhookEndpoint(input: { url: "http://127.0.0.1:9/token" }) { endpoint { id } userErrors { message } } }';
    const { createWebhookEndpoint } = await owner.queryData(create);
    const id = createWebhookEndpoint.endpoint.id as string;
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
      { action: "endpoint.url_changed", details: { host: "127.0.0.1:10", former_host: "127.0.0.1:9" } },
      { action: "endpoint.secret_rotated" },
      { action: "endpoint.deleted" },
    ]);
    expect(JSON.stringify(acts)).not.toContain("token");
  });
});

it(`an organisation gets at most ${MAX_NOTICES_PER_HOUR} of these mails an hour, and the audit log has all changes`, async () => {
  const { owner } = await place();
  for (let index = 0; index < MAX_NOTICES_PER_HOUR + 2; index += 1) await owner.queryData(CREATE_KEY);
  expect(await actionsOf(owner)).toHaveLength(MAX_NOTICES_PER_HOUR + 2);
  const mails = (await listMailsTo(app, owner.email)).filter(({ kind }) => kind === "access_changed");
  expect(mails).toHaveLength(MAX_NOTICES_PER_HOUR);
});
