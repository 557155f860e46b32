/** The cache of API keys. The test moves the cache's clock and timer, so a busy machine changes nothing. */
import { randomBytes } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { ApiKeyService } from "../../../src/api-keys/service.ts";
import { generateKey } from "../../../src/api-keys/format.ts";
import { POLL_INTERVAL_MS, unknownKeyRate, KeyVerifier } from "../../../src/api-keys/verifier.ts";
import { entities } from "../../../src/app/entities.ts";
import { OrganizationService } from "../../../src/organizations/service.ts";
import type { AppError } from "../../../src/core/errors.ts";
import { openDatabase, type Database, type Queryable } from "../../../src/core/postgres/database.ts";
import { sql, type Sql } from "../../../src/core/postgres/sql.ts";
import { createFakeClock, SECOND_MS } from "../../support/fake-clock.ts";
import { createTestDatabase } from "../../support/database/test-database.ts";
import { endSharedApps } from "../../support/app/shared-app.ts";
import { suspend } from "../../support/app/suspend.ts";

beforeAll(endSharedApps);

const clock = createFakeClock();
const ADDRESS = "10.1.2.3";
const resources = new AsyncDisposableStack();
let database: Database;
let keys: ApiKeyService;

beforeAll(async () => {
  const { url } = resources.use(await createTestDatabase());
  database = resources.use(await openDatabase({ url, poolSize: 2, entities }));
  keys = new ApiKeyService({ database, clock });
});
afterAll(() => resources.disposeAsync());

/** The verifier's own database: counts look-ups of keys, and can fail. */
let lookups: number;
let isAway: boolean;
let pending: Set<Promise<unknown>>;
const watched: Queryable = {
  async query<Row>(statement: Sql): Promise<Row[]> {
    if (isAway) throw new Error("away");
    if (statement.compile().text.includes("secret_hash")) lookups += 1;
    const rows = database.query<Row>(statement);
    pending.add(rows);
    return await rows.finally(() => pending.delete(rows));
  },
};

/** Moves the cache's time, and waits after each of its polls until the poll has ended, as polls of a real clock do. */
async function advance(ms: number): Promise<void> {
  for (let leftMs = ms; leftMs >= 0; leftMs -= POLL_INTERVAL_MS) {
    await vi.advanceTimersByTimeAsync(Math.min(leftMs, POLL_INTERVAL_MS));
    do {
      await Promise.all(pending);
      // The poll continues after its statement.
      await setImmediate();
    } while (pending.size > 0);
  }
}

let verifier: KeyVerifier;
beforeEach(async () => {
  [lookups, isAway, pending] = [0, false, new Set()];
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
  verifier = new KeyVerifier({ database: watched, clock });
  onTestFinished(async () => {
    await verifier[Symbol.asyncDispose]();
    vi.useRealTimers();
  });
  // The cache works once it has polled.
  await advance(SECOND_MS);
});

interface Partner {
  organizationId: string;
  id: string;
  text: string;
}

/** Creates a key that the verifier has not read. */
async function createKey(): Promise<Partner> {
  const name = `agent ${randomBytes(6).toString("hex")}`;
  const { id: organizationId } = await new OrganizationService({ database }).create({ name, type: "agent" });
  const { key, text } = await keys.create({ organizationId, name: "test", createdBy: "test" });
  await advance(SECOND_MS);
  return { organizationId, id: key.id, text };
}

/** Creates a key that the verifier has cached. */
async function cachedKey(): Promise<Partner> {
  const partner = await createKey();
  await verifier.verify(partner.text, ADDRESS);
  const before = lookups;
  await verifier.verify(partner.text, ADDRESS);
  expect(lookups).toBe(before);
  return partner;
}

describe("a second later, a cached key is rejected", () => {
  // evidence: api-key-revocation-immediate
  it.each([
    ["that was revoked", "Unauthorized", ({ id }: Partner) => keys.revoke(id)],
    ["that was rotated without grace", "Unauthorized", ({ id }: Partner) => keys.rotate(id, 0, "test")],
    [
      "of a suspended organisation",
      "Forbidden",
      ({ organizationId }: Partner) => suspend(database, organizationId),
    ],
  ])("%s", async (_, code, change) => {
    // The change happens at different times between two polls.
    for (const afterPollMs of [0, 1, 399]) {
      const partner = await cachedKey();
      await advance(afterPollMs);
      await change(partner);
      await advance(SECOND_MS);
      await expect(verifier.verify(partner.text, ADDRESS)).rejects.toMatchObject({
        code: `${code}Exception`,
      });
    }
  });

  // evidence: key-cache-refused-without-database
  it("if the database cannot be asked", async () => {
    const { text } = await cachedKey();
    isAway = true;
    await verifier.verify(text, ADDRESS);
    await advance(SECOND_MS);
    await expect(verifier.verify(text, ADDRESS)).rejects.toThrow("away");
  });
});

it("concurrent requests with one key share a look-up while the cache is out of date", async () => {
  const { text } = await cachedKey();
  isAway = true;
  await advance(SECOND_MS);
  isAway = false;
  const before = lookups;
  await Promise.all(Array.from({ length: 50 }, () => verifier.verify(text, ADDRESS)));
  expect(lookups).toBe(before + 1);
});

// evidence: unknown-key-lookups-limited
it("an unknown key costs a network a token, of which it has 100 and gets 20 a second; keys in use and other networks need none", async () => {
  const used = await cachedKey();
  const before = lookups;
  /** Returns how many of 300 keys were refused without a look-up. */
  const flood = async (): Promise<number> => {
    const codes: string[] = [];
    for (let host = 0; host < 300; host += 1) {
      const address = `2001:db8:0:7::${host.toString(16)}`;
      await verifier
        .verify(generateKey().text, address)
        .catch((error: unknown) => codes.push((error as AppError).code));
    }
    return codes.filter((code) => code === "TooManyRequestsException").length;
  };
  expect(await flood()).toBe(300 - unknownKeyRate.burst);
  clock.advance(SECOND_MS);
  expect(await flood()).toBe(300 - unknownKeyRate.perSecond);
  expect(lookups - before).toBe(unknownKeyRate.burst + unknownKeyRate.perSecond);
  isAway = true;
  await advance(2 * SECOND_MS);
  isAway = false;
  // The last poll is too old, so the key is looked up.
  await verifier.verify(used.text, "2001:db8:0:7::1");
  expect(lookups - before).toBe(unknownKeyRate.burst + unknownKeyRate.perSecond + 1);
  await expect(verifier.verify(generateKey().text, "2001:db8:0:8::1")).rejects.toMatchObject({
    code: "UnauthorizedException",
  });
});

it("a look-up that PostgreSQL does not answer costs no token, because the key may be valid", async () => {
  const { text } = await createKey();
  isAway = true;
  const refusals = new Set<string>();
  for (let count = 0; count <= unknownKeyRate.burst; count += 1)
    await verifier.verify(text, ADDRESS).catch((error: unknown) => refusals.add((error as Error).message));
  expect([...refusals]).toEqual(["away"]);
  isAway = false;
  await verifier.verify(text, ADDRESS);
});

it("a changed key has the newest access revision, by which processes of the former version drop it", async () => {
  const changes = [
    ({ id }: Partner) => keys.revoke(id),
    ({ id }: Partner) => keys.rotate(id, 0, "test"),
    ({ id }: Partner) => keys.setRateLimits(id, { read: null }),
    ({ organizationId }: Partner) => suspend(database, organizationId),
  ];
  for (const change of changes) {
    const partner = await createKey();
    await change(partner);
    const rows = await database.query(sql`
      select from api_key join access_revision on revision = access_revision where api_key.id = ${partner.id}::uuid`);
    expect(rows).toHaveLength(1);
  }
});

it("a change makes the process read the other keys again, once", async () => {
  const [kept, rotated] = [await createKey(), await createKey()];
  for (const { text } of [kept, rotated]) await verifier.verify(text, ADDRESS);
  await keys.rotate(rotated.id, 0, "test");
  await advance(SECOND_MS);
  const before = lookups;
  for (let count = 0; count < 2; count += 1) await verifier.verify(kept.text, ADDRESS);
  expect(lookups).toBe(before + 1);
});
