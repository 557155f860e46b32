import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { KeyRequest } from "../../../src/api-keys/input.ts";
import type { NewKey } from "../../../src/api-keys/changes.ts";
import { ApiKeyService, keysByIds, MAX_LISTED_KEYS } from "../../../src/api-keys/service.ts";
import { type ApiKeyPrincipal, KeyVerifier } from "../../../src/api-keys/verifier.ts";
import { entities } from "../../../src/app/entities.ts";
import { OrganizationService } from "../../../src/organizations/service.ts";
import { openDatabase, type Database } from "../../../src/core/postgres/database.ts";
import { newUuid, toTypedId } from "../../../src/core/ids.ts";
import { raw, sql } from "../../../src/core/postgres/sql.ts";
import { createFakeClock, DAY_MS, HOUR_MS } from "../../support/fake-clock.ts";
import { openTransaction, waitForBlockedSessions } from "../../support/database/blocked-sessions.ts";
import { createTestDatabase } from "../../support/database/test-database.ts";
import { eventually } from "../../support/eventually.ts";

const clock = createFakeClock();
const ADDRESS = "10.1.2.3";
const resources = new AsyncDisposableStack();
let database: Database;
let keys: ApiKeyService;
let verifier: KeyVerifier;

beforeAll(async () => {
  const { url } = resources.use(await createTestDatabase());
  database = resources.use(await openDatabase({ url, poolSize: 6, entities }));
  keys = new ApiKeyService({ database, clock });
  verifier = resources.use(new KeyVerifier({ database, clock }));
});
afterAll(() => resources.disposeAsync());

async function organization(): Promise<string> {
  const name = `agent ${randomBytes(6).toString("hex")}`;
  return (await new OrganizationService({ database }).create({ name, type: "agent" })).id;
}

/** Creates an organisation's key and returns its principal. */
async function holderOf(organizationId: string | null, key: Partial<NewKey> = {}): Promise<ApiKeyPrincipal> {
  const { text } = await keys.create({ organizationId, name: "test", createdBy: "test", ...key });
  return await verifier.verify(text, ADDRESS);
}

const partner = async (key: Partial<NewKey> = {}): Promise<ApiKeyPrincipal> =>
  await holderOf(await organization(), key);
const create = (asking: ApiKeyPrincipal, request: Partial<KeyRequest> = {}) =>
  keys.createFor(asking, { name: "new", ...request });
const inDays = (days: number): Date => new Date(clock.now() + days * DAY_MS);
const refusal = (code: string, message = "") =>
  expect.objectContaining({ code: `${code}Exception`, message: expect.stringContaining(message) });

async function keyOf(owner: ApiKeyPrincipal, key: Partial<NewKey> = {}): Promise<string> {
  const { organizationId } = owner;
  return (await keys.create({ organizationId, name: "other", createdBy: "test", ...key })).key.id;
}

describe("a key that creates a key", () => {
  it("passes on its organisation, scopes, expiry, CIDR ranges and limits by default, and is recorded as the creator", async () => {
    const bounds = {
      scopes: ["jobs:read", "webhooks:manage"],
      expiresAt: inDays(7),
      cidrs: ["10.0.0.0/8"],
      rateLimits: { read: { perSecond: 3, burst: 4 } },
    } satisfies Partial<NewKey>;
    const asking = await partner(bounds);
    const { key, text } = await create(asking);
    expect(key).toMatchObject({ name: "new", ...bounds, createdBy: toTypedId("key", asking.keyId) });
    expect(await verifier.verify(text, ADDRESS)).toMatchObject({
      keyId: key.id,
      organizationId: asking.organizationId,
      scopes: bounds.scopes,
    });
    await expect(verifier.verify(text, "11.0.0.1")).rejects.toEqual(refusal("Forbidden"));
  });

  it("can grant less than it has, also where it is unrestricted itself", async () => {
    const asking = await partner({ expiresAt: inDays(7), cidrs: ["10.0.0.0/8", "2001:db8::/32"] });
    const less = {
      scopes: ["jobs:read" as const],
      expiresAt: inDays(6),
      cidrs: ["10.1.0.0/16", "2001:db8:1::/48", "10.0.0.0/8"],
    };
    expect((await create(asking, less)).key).toMatchObject(less);
    expect((await create(asking, { expiresAt: inDays(7) })).key.expiresAt).toEqual(inDays(7));
    expect((await create(await partner(), less)).key).toMatchObject(less);
  });

  // evidence: key-delegation-scopes
  it("cannot grant a scope, a later expiry or a CIDR range that it does not have", async () => {
    const scopes: NewKey["scopes"] = ["jobs:read", "webhooks:manage"];
    const asking = await partner({ scopes, expiresAt: inDays(7), cidrs: ["10.0.0.0/8", "2001:db8::/32"] });
    const late = new Date(inDays(7).getTime() + 1);
    const refused: [Partial<KeyRequest>, string][] = [
      [{ scopes: ["jobs:read", "jobs:write"] }, "jobs:write"],
      [{ expiresAt: late }, inDays(7).toISOString()],
    ];
    for (const range of [
      "10.0.0.0/7",
      "11.0.0.0/8",
      "0.0.0.0/0",
      "::ffff:10.0.0.0/9",
      "::/0",
      "::ffff:10.1.2.3",
    ])
      refused.push([{ cidrs: ["10.0.0.1", range] }, "10.0.0.0/8, 2001:db8::/32"]);
    for (const [request, message] of refused)
      await expect(create(asking, request)).rejects.toEqual(refusal("Forbidden", message));
  });

  it("gets NotFoundException for another organisation", async () => {
    const asking = await partner();
    for (const organizationId of [await organization(), newUuid()])
      await expect(create(asking, { organizationId })).rejects.toEqual(refusal("NotFound"));
    const own = await create(asking, { organizationId: asking.organizationId });
    expect(own.key.organization).toMatchObject({ id: asking.organizationId });
  });

  it("creates none once it is revoked or expired, even if a process still has it cached", async () => {
    const [revoked, ended] = [await partner(), await partner({ expiresAt: inDays(1) })];
    await keys.revoke(revoked.keyId);
    await database.query(
      sql`update api_key set expires_at = now() - interval '1 day' where id = ${ended.keyId}`,
    );
    for (const asking of [revoked, ended]) {
      await expect(create(asking)).rejects.toEqual(refusal("Unauthorized"));
      await expect(keys.rotateFor(asking, asking.keyId, 0)).rejects.toEqual(refusal("Unauthorized"));
    }
  });
});

describe("an operator's key", () => {
  it("creates keys for any organisation, and operators' keys by default", async () => {
    const operator = await holderOf(null, { rateLimits: { read: null } });
    const organizationId = await organization();
    const { key, text } = await create(operator, { organizationId });
    expect(key).toMatchObject({ organization: { id: organizationId, type: "agent" }, rateLimits: null });
    expect(await verifier.verify(text, ADDRESS)).toMatchObject({ organizationId, organizationType: "agent" });
    expect((await create(operator)).key).toMatchObject({ organization: null, rateLimits: { read: null } });
    await expect(create(operator, { organizationId: newUuid() })).rejects.toEqual(refusal("NotFound"));
  });

  it("lists and revokes every key, and rotates those within its rights", async () => {
    const operator = await holderOf(null);
    const other = await partner();
    const listed = (await keys.listFor(operator)).map(({ id }) => id);
    expect(listed).toEqual(expect.arrayContaining([operator.keyId, other.keyId]));
    expect((await keys.rotateFor(operator, other.keyId, 1)).key.scopes).toEqual(other.scopes);
    expect((await keys.revokeFor(operator, other.keyId)).key.revokedAt).toEqual(new Date(clock.now()));
  });
});

describe("a key that lists keys", () => {
  it("gets only those of its organisation, oldest first", async () => {
    const asking = await partner();
    clock.advance(1);
    const { key } = await create(asking);
    const listed = await keys.listFor(asking);
    expect(listed.map(({ id }) => id)).toEqual([asking.keyId, key.id]);
    expect(listed[1]?.organization).toMatchObject({ id: asking.organizationId, type: "agent" });
    expect((await keys.getFor(asking, key.id)).name).toBe("new");

    for (const other of [await partner(), await holderOf(null)]) {
      expect(await keysByIds(database, asking, [other.keyId, key.id])).toMatchObject([{ id: key.id }]);
      await expect(keys.getFor(asking, other.keyId)).rejects.toEqual(refusal("NotFound"));
      await expect(keys.rotateFor(asking, other.keyId, 1)).rejects.toEqual(refusal("NotFound"));
      await expect(keys.revokeFor(asking, other.keyId)).rejects.toEqual(refusal("NotFound"));
      expect(await keys.find(toTypedId("key", other.keyId))).toMatchObject({
        revokedAt: null,
        expiresAt: null,
      });
    }
  });
});

/** Creates keys of an organisation with the given times. */
async function insertKeys(
  { organizationId }: ApiKeyPrincipal,
  { count, name, ended = null }: { count: number; name: string; ended?: Date | null },
): Promise<void> {
  await database.query(sql`
    insert into api_key (id, prefix, secret_hash, organization_id, name, scopes, created_by, created_at, revoked_at)
    select gen_random_uuid(), 'wmk_' || substr(md5(random()::text), 1, 12), '', ${organizationId}, ${name}, '{jobs:read}', 'test',
      ${inDays(-400)}::timestamptz + n * interval '1 minute', ${ended}::timestamptz
    from generate_series(1, ${count}::int) n`);
}

describe("the list of keys", () => {
  it("contains active keys, and keys that ended in the last 30 days", async () => {
    const asking = await partner();
    const justNow = new Date(inDays(-30).getTime() + 1);
    const end = async (name: string, revokedAt: Date | null, expiresAt: Date | null): Promise<void> => {
      const id = await keyOf(asking, { name });
      await database.query(
        sql`update api_key set revoked_at = ${revokedAt}::timestamptz, expires_at = ${expiresAt}::timestamptz where id = ${id}`,
      );
    };
    await end("good", null, inDays(1));
    await end("revoked within", justNow, null);
    await end("expired within", null, justNow);
    await end("revoked before", inDays(-30), null);
    await end("expired before", null, inDays(-30));
    await end("revoked after it had expired", inDays(-1), inDays(-31));
    const names = (await keys.listFor(asking)).map(({ name }) => name);
    expect(names.toSorted()).toEqual(["expired within", "good", "revoked within", "test"]);
  });

  it("contains at most 1,000 keys, preferring active and then newer ones, oldest first", async () => {
    const asking = await partner();
    await insertKeys(asking, { count: 2, name: "old and active" });
    await insertKeys(asking, { count: MAX_LISTED_KEYS, name: "ended", ended: inDays(-1) });
    const listed = await keys.listFor(asking);
    expect(listed).toHaveLength(MAX_LISTED_KEYS);
    expect(listed.filter(({ name }) => name !== "ended").map(({ name }) => name)).toEqual([
      "old and active",
      "old and active",
      "test",
    ]);
    const times = listed.map(({ createdAt }) => createdAt.getTime());
    expect(times).toEqual(times.toSorted((one, other) => one - other));
    const oldestEnded = listed.find(({ name }) => name === "ended");
    // Three of the 1,000 are active, so the three oldest ended keys are left out.
    expect(oldestEnded?.createdAt).toEqual(new Date(inDays(-400).getTime() + 4 * 60_000));
  });
});

describe("a key that rotates a key", () => {
  it("gives the new key the old one's rights, and the old key an expiry", async () => {
    const bounds = {
      name: "bounded",
      scopes: ["jobs:read" as const],
      expiresAt: inDays(30),
      cidrs: ["10.0.0.0/8"],
      rateLimits: { write: { perSecond: 1, burst: 1 } },
    };
    const asking = await partner();
    const id = await keyOf(asking, bounds);
    const { key, text } = await keys.rotateFor(asking, id, 2);
    expect(key).toMatchObject({ ...bounds, createdBy: toTypedId("key", asking.keyId) });
    expect(key.organization).toMatchObject({ id: asking.organizationId, type: "agent" });
    expect((await verifier.verify(text, ADDRESS)).keyId).toBe(key.id);
    expect((await keys.getFor(asking, id)).expiresAt).toEqual(new Date(clock.now() + 2 * HOUR_MS));
  });

  it("never extends an old key that expires within the grace period, nor the new key", async () => {
    const asking = await partner();
    const expiresAt = new Date(clock.now() + HOUR_MS);
    const id = await keyOf(asking, { expiresAt });
    const { key } = await keys.rotateFor(asking, id, 24);
    expect([key.expiresAt, (await keys.getFor(asking, id)).expiresAt]).toEqual([expiresAt, expiresAt]);
  });

  it("can rotate itself with any restrictions", async () => {
    const asking = await partner({ expiresAt: inDays(3), cidrs: ["10.0.0.0/8"] });
    const { key } = await keys.rotateFor(asking, asking.keyId, 0);
    expect(key).toMatchObject({ expiresAt: inDays(3), cidrs: ["10.0.0.0/8"] });
    await expect(keys.rotateFor(asking, asking.keyId, 0)).rejects.toEqual(refusal("Unauthorized"));
  });

  it("cannot rotate a key with more rights, as it would receive the secret", async () => {
    const bounds = {
      scopes: ["webhooks:manage" as const],
      expiresAt: inDays(3),
      cidrs: ["10.0.0.0/8"],
      rateLimits: { write: { perSecond: 2, burst: 2 } },
    };
    const asking = await partner(bounds);
    const stronger: Partial<NewKey>[] = [
      { ...bounds, scopes: ["jobs:write"] },
      { ...bounds, expiresAt: null },
      { ...bounds, expiresAt: inDays(4) },
      { ...bounds, cidrs: null },
      { ...bounds, cidrs: ["0.0.0.0/0"] },
      { ...bounds, rateLimits: null },
      { ...bounds, rateLimits: { write: null } },
      { ...bounds, rateLimits: { write: { perSecond: 3, burst: 1 } } },
      { ...bounds, rateLimits: { ...bounds.rateLimits, read: null } },
    ];
    for (const one of stronger) {
      const id = await keyOf(asking, one);
      await expect(keys.rotateFor(asking, id, 1)).rejects.toEqual(refusal("Forbidden"));
      expect((await keys.getFor(asking, id)).expiresAt ?? null).toEqual(one.expiresAt ?? null);
    }
    await expect(keys.rotateFor(asking, await keyOf(asking, bounds), 1)).resolves.toBeTruthy();
  });

  it("cannot rotate a revoked or expired key", async () => {
    const asking = await partner();
    const [revoked, ended] = [await keyOf(asking), await keyOf(asking)];
    await keys.revoke(revoked);
    await database.query(sql`update api_key set expires_at = now() - interval '1 day' where id = ${ended}`);
    for (const id of [revoked, ended])
      await expect(keys.rotateFor(asking, id, 1)).rejects.toEqual(refusal("Conflict"));
  });

  it("creates no key if either key is revoked concurrently", async () => {
    const [asking, revoked] = [await partner(), await partner()];
    const id = await keyOf(asking);
    const revoking = await openTransaction(
      database,
      sql`select 1 from access_revision for update`,
      sql`update api_key set revoked_at = now() where id = any(${[id, revoked.keyId]}::uuid[])`,
    );
    const asked = [keys.rotateFor(asking, id, 1), create(revoked), keys.rotateFor(revoked, revoked.keyId, 1)];
    const refusals = Promise.all(asked.map((one) => one.catch((error: unknown) => error)));
    await waitForBlockedSessions(database, asked.length);
    await revoking.commit();
    expect(await refusals).toEqual(["Conflict", "Unauthorized", "Unauthorized"].map((code) => refusal(code)));
  });
});

describe("a key that revokes a key", () => {
  it("ends it also in processes that have it cached, and can do so again", async () => {
    const asking = await partner();
    const { key, text } = await create(asking);
    await verifier.verify(text, ADDRESS);
    const { key: revoked } = await keys.revokeFor(asking, key.id);
    expect(revoked).toMatchObject({ id: key.id, revokedAt: new Date(clock.now()) });
    await eventually(() => expect(verifier.verify(text, ADDRESS)).rejects.toEqual(refusal("Unauthorized")));
    clock.advance(1_000);
    expect((await keys.revokeFor(asking, key.id)).key.revokedAt).toEqual(revoked.revokedAt);
  });

  it("cannot revoke a key with scopes that it does not have, but one that expires later", async () => {
    const asking = await partner({ scopes: ["webhooks:manage"], expiresAt: inDays(1) });
    const id = await keyOf(asking, { scopes: ["webhooks:manage", "jobs:read"] });
    await expect(keys.revokeFor(asking, id)).rejects.toEqual(refusal("Forbidden", "jobs:read"));
    expect((await keys.getFor(asking, id)).revokedAt ?? null).toBeNull();
    const leaked = await keyOf(asking, { scopes: ["webhooks:manage"] });
    expect((await keys.revokeFor(asking, leaked)).key.revokedAt).not.toBeNull();
  });
});

/** Creates a key of an organisation that has 99 others. */
async function full(): Promise<ApiKeyPrincipal> {
  const asking = await partner();
  await insertKeys(asking, { count: 99, name: "filler" });
  return asking;
}

/** Ends one of those 99. */
function endOne({ organizationId }: ApiKeyPrincipal, how: "revoked_at" | "expires_at"): Promise<unknown> {
  return database.query(sql`
    update api_key set ${raw(how)} = now() - interval '1 day'
    where id = (select id from api_key where organization_id = ${organizationId} and name = 'filler' limit 1)`);
}

describe("an organisation with 100 keys", () => {
  const tooMany = expect.objectContaining({ code: "ConflictException", details: { limit: 100 } });
  it.each(["revoked_at", "expires_at"] as const)(
    "cannot create another until one has ended: %s",
    async (change) => {
      const asking = await full();
      await expect(create(asking)).rejects.toEqual(tooMany);
      await endOne(asking, change);
      await create(asking);
      await expect(create(asking)).rejects.toEqual(tooMany);
    },
  );

  it("can rotate one without a grace period, as the number stays the same", async () => {
    const asking = await full();
    const { id } = (await keys.listFor(asking)).find(({ name }) => name === "filler") ?? { id: "" };
    await expect(keys.rotateFor(asking, id, 1)).rejects.toEqual(tooMany);
    await keys.rotateFor(asking, id, 0);
    await expect(create(asking)).rejects.toEqual(tooMany);
  });

  // evidence: key-limit-concurrent
  it("creates only one of several concurrent keys when one more is allowed", async () => {
    const asking = await full();
    await endOne(asking, "revoked_at");
    const asked = await Promise.allSettled(Array.from({ length: 6 }, () => create(asking)));
    expect(asked.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  });

  it("does not reduce the quota of others", async () => {
    await full();
    await expect(create(await partner())).resolves.toBeTruthy();
    await expect(create(await holderOf(null))).resolves.toBeTruthy();
  });
});
