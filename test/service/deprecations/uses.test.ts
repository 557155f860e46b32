/** Counting uses of deprecations, listing them, mailing owners before the removal, and purging. */
import { Registry } from "prom-client";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { Deprecation } from "../../../src/deprecations/api.ts";
import { createUseRecorder, MAX_COUNTED_REQUESTS } from "../../../src/deprecations/use.recorder.ts";
import { DeprecationUseService } from "../../../src/deprecations/use.service.ts";
import { MailService } from "../../../src/mail/mail.service.ts";
import { newUuid } from "../../../src/platform/ids.ts";
import { createLogger } from "../../../src/platform/logger.ts";
import { raw, sql } from "../../../src/platform/postgres/sql.ts";
import { listMailsTo } from "../../support/accounts/mails.ts";
import { createTestUser } from "../../support/accounts/session-client.ts";
import { startTestApp, type TestApp, type TestOrganization } from "../../support/app/app.fixture.ts";
import { createFakeClock, DAY_MS, HOUR_MS, type FakeClock } from "../../support/fake-clock.ts";
import { testSecretBox } from "../../support/test-secret.ts";

const SUNSET_MS = Date.parse("2029-01-31T00:00:00Z");
const page: Deprecation = {
  id: "jobs-page",
  target: { operation: "GET /v1/jobs", part: { in: "query", name: "page" } },
  since: "2028-01-31",
  sunset: "2029-01-31",
  replacement: "Pass next_cursor as cursor.",
};
const pts: Deprecation = { ...page, id: "pts", target: { coordinate: "Job.pts" }, sunset: "2029-06-30" };

let app: TestApp;
let clock: FakeClock;
let organization: TestOrganization;
let key: KeyOf;

interface KeyOf {
  keyId: string;
  organizationId: string;
}

beforeAll(async () => {
  app = await startTestApp({ WAYMARK_ROLE: "api" });
});
afterAll(() => app[Symbol.asyncDispose]());
beforeEach(async () => {
  await app.database.query(raw("truncate deprecation_use, deprecation_notice, mail"));
  clock = createFakeClock(SUNSET_MS - 200 * DAY_MS);
  organization = await app.createOrganization("agent");
  key = await keyOf(organization);
});

async function keyOf({ id }: TestOrganization): Promise<KeyOf> {
  const [first] = await app.keys.list(id);
  return { keyId: first?.id ?? "", organizationId: id };
}

/** A recorder like that of one process. */
function addRecorder(database = app.database) {
  const registry = new Registry();
  const logger = createLogger("silent");
  const recorder = createUseRecorder({ database, clock, logger, registry, deprecations: [page, pts] });
  onTestFinished(() => recorder[Symbol.asyncDispose]());
  return { recorder, registry };
}

function openService(deprecations: readonly Deprecation[] = [page, pts]): DeprecationUseService {
  const { database } = app;
  const mails = new MailService({ database, secretBox: testSecretBox, isSmtpConfigured: true });
  return new DeprecationUseService({
    database,
    clock,
    logger: createLogger("silent"),
    mails,
    pageUrl: (path) => `https://waymark.example${path}`,
    deprecations,
  });
}

async function use(by: KeyOf = key, used: readonly Deprecation[] = [page]): Promise<void> {
  const { recorder } = addRecorder();
  recorder.record(by, used);
  await recorder.flush();
}

/** Returns the prefixes' names, by deprecation. */
async function namesOf(organizationId = organization.id): Promise<Record<string, string[]>> {
  const used = await openService().list({ organizationId });
  return Object.fromEntries(
    used.map(({ deprecation, uses }) => [deprecation.id, uses.map(({ apiKey }) => apiKey.name)]),
  );
}

const countRows = async (table: string): Promise<number> => {
  const [row] = await app.database.query<{ count: number }>(
    raw(`select count(*)::int as count from ${table}`),
  );
  return row?.count ?? 0;
};

describe("counting", () => {
  it("adds up the requests of all processes, with the first and the last use", async () => {
    const [one, other] = [addRecorder(), addRecorder()];
    const first = clock.now();
    one.recorder.record(key, [page, pts]);
    clock.advance(HOUR_MS);
    one.recorder.record(key, [page]);
    await one.recorder.flush();
    clock.advance(HOUR_MS);
    other.recorder.record(key, [page]);
    await other.recorder.flush();
    const [used, second] = await openService().list(key);
    expect(used?.uses).toMatchObject([
      { requests: 3, firstUsedAt: new Date(first), lastUsedAt: new Date(first + 2 * HOUR_MS) },
    ]);
    expect(second?.uses).toMatchObject([{ requests: 1, firstUsedAt: new Date(first) }]);
  });

  it("writes once when processes flush at the same time", async () => {
    const recorders = Array.from({ length: 6 }, () => addRecorder().recorder);
    const keys = [key, ...(await Promise.all([0, 1, 2].map((index) => newKey(index))))];
    for (const [index, recorder] of recorders.entries())
      for (const by of index % 2 === 0 ? keys : keys.toReversed()) recorder.record(by, [page, pts]);
    await Promise.all(recorders.map((recorder) => recorder.flush()));
    const used = await openService().list(key);
    expect(used.map(({ uses }) => uses.map(({ requests }) => requests))).toEqual([
      [6, 6, 6, 6],
      [6, 6, 6, 6],
    ]);
  });

  it("leaves out users, operators' keys, and keys that no longer exist", async () => {
    const { recorder, registry } = addRecorder();
    recorder.record(null, [page]);
    recorder.record({ keyId: null, organizationId: organization.id }, [page]);
    recorder.record({ keyId: newUuid(), organizationId: null }, [page]);
    recorder.record({ ...key, keyId: newUuid() }, [page]);
    recorder.record(key, [page]);
    await recorder.flush();
    expect(await countRows("deprecation_use")).toBe(1);
    expect(await registry.metrics()).toContain('waymark_deprecation_uses_total{deprecation="jobs-page"} 2');
    expect(await registry.metrics()).toContain('waymark_deprecation_uses_total{deprecation="pts"} 0');
  });

  it("keeps the counts if PostgreSQL fails, and stops at the largest number", async () => {
    const { recorder } = addRecorder();
    recorder.record(key, [page]);
    await app.database.query(raw("alter table deprecation_use rename to deprecation_use_gone"));
    await expect(recorder.flush()).rejects.toThrow("deprecation_use");
    await app.database.query(raw("alter table deprecation_use_gone rename to deprecation_use"));
    recorder.record(key, [page]);
    await recorder.flush();
    const requests = async () => (await openService().list(key))[0]?.uses[0]?.requests;
    expect(await requests()).toBe(2);
    await app.database.query(sql`update deprecation_use set requests = ${MAX_COUNTED_REQUESTS}::int`);
    recorder.record(key, [page]);
    await recorder.flush();
    expect(await requests()).toBe(MAX_COUNTED_REQUESTS);
  });
});

async function newKey(index = 0, expiresAt: Date | null = null): Promise<KeyOf> {
  const { key: created } = await app.keys.create({
    organizationId: organization.id,
    name: `key ${index}`,
    createdBy: "test",
    expiresAt,
  });
  return { keyId: created.id, organizationId: organization.id };
}

describe("the list", () => {
  it("has the organisation's own keys, the latest use first", async () => {
    const other = await app.createOrganization("agent");
    const second = await newKey();
    await use();
    await use(await keyOf(other));
    clock.advance(HOUR_MS);
    await use(second, [page, pts]);
    expect(await namesOf()).toEqual({ "jobs-page": ["key 0", "test"], pts: ["key 0"] });
    expect(await namesOf(other.id)).toEqual({ "jobs-page": ["test"], pts: [] });
    const all = await openService().list({ organizationId: null });
    expect(all.map(({ uses }) => uses.map(({ organization: { name } }) => name))).toEqual([
      expect.arrayContaining([organization.name, other.name]),
      [organization.name],
    ]);
    expect(await openService([]).list(key)).toEqual([]);
  });

  it("leaves out uses older than 30 days, and keys that have ended", async () => {
    await use();
    const [revoked, expired] = [await newKey(1), await newKey(2, new Date(clock.now() + DAY_MS))];
    await use(revoked);
    await use(expired);
    await app.keys.revoke(revoked.keyId);
    clock.advance(30 * DAY_MS);
    expect(await namesOf()).toEqual({ "jobs-page": ["test"], pts: [] });
    clock.advance(1);
    expect(await namesOf()).toEqual({ "jobs-page": [], pts: [] });
  });
});

const subjects = async (email: string): Promise<string[]> =>
  (await listMailsTo(app, email)).map(({ subject }) => subject);

async function addOwner(organizationId = organization.id): Promise<string> {
  return (await createTestUser(app, { organizationId, role: "owner" })).email;
}

/** Sets the clock to `days` before the removal of `page`. */
function goTo(days: number): void {
  clock.advance(SUNSET_MS - days * DAY_MS - clock.now());
}

describe("the mails to owners", () => {
  it("go out 90, 30 and 7 days before the removal, once each, to every owner", async () => {
    const owners = [await addOwner(), await addOwner()];
    const member = (await createTestUser(app, { organizationId: organization.id, role: "member" })).email;
    const sent: [number, number][] = [];
    for (const days of [91, 90, 89.9, 60, 30, 29, 8, 7, 6, 1, 0, -1]) {
      goTo(days);
      await use();
      const before = await countRows("mail");
      // Two processes at once, as after a lost lock of the task.
      await Promise.all([openService().mailOwners(), openService().mailOwners()]);
      sent.push([days, (await countRows("mail")) - before]);
    }
    expect(sent.filter(([, count]) => count > 0)).toEqual([
      [90, 2],
      [30, 2],
      [7, 2],
    ]);
    for (const owner of owners)
      expect(await subjects(owner)).toEqual(
        [90, 30, 7].map((days) => `Removed in ${days} days: GET /v1/jobs: query parameter page`),
      );
    expect(await subjects(member)).toEqual([]);
  });

  it("name what is removed, when, the replacement and the keys", async () => {
    const owner = await addOwner();
    goTo(60);
    await use();
    await openService().mailOwners();
    const [mail] = await listMailsTo(app, owner);
    const [first] = await app.keys.list(organization.id);
    expect(mail?.text).toContain(
      "GET /v1/jobs: query parameter page is deprecated. It will be removed on 2029-01-31, in 60 days. Pass next_cursor as cursor.",
    );
    expect(mail?.text).toContain(`\ntest (${first?.prefix}), last on 2028-12-02\n`);
    expect(mail?.text).toContain("https://waymark.example/integrations/keys");
    expect(mail?.text).toContain("https://waymark.example/guide/versioning#deprecation");
  });

  it("are late, not lost, after a pause: only the most urgent one is sent", async () => {
    const owner = await addOwner();
    goTo(5.5);
    await use();
    await openService().mailOwners();
    await openService().mailOwners();
    expect(await subjects(owner)).toEqual(["Removed in 6 days: GET /v1/jobs: query parameter page"]);
  });

  it("go only to organisations whose active keys used it in the last 30 days", async () => {
    const [owner, unaffected] = [
      await addOwner(),
      await addOwner((await app.createOrganization("agent")).id),
    ];
    await use();
    goTo(80);
    await openService().mailOwners();
    expect(await subjects(owner)).toEqual([]);
    await use();
    await openService().mailOwners();
    expect(await subjects(owner)).toHaveLength(1);
    expect(await subjects(unaffected)).toEqual([]);
  });

  it("wait until the organisation has an owner, and start again if the removal is postponed", async () => {
    goTo(20);
    await use();
    await openService().mailOwners();
    const owner = await addOwner();
    await openService().mailOwners();
    expect(await subjects(owner)).toHaveLength(1);
    await openService([{ ...page, sunset: "2029-03-31" }]).mailOwners();
    expect((await subjects(owner))[1]).toBe("Removed in 79 days: GET /v1/jobs: query parameter page");
  });

  it("name at most 20 keys", async () => {
    const owner = await addOwner();
    goTo(10);
    for (const by of await Promise.all(Array.from({ length: 22 }, (_, index) => newKey(index))))
      await use(by);
    await openService().mailOwners();
    const [mail] = await listMailsTo(app, owner);
    expect(mail?.text.match(/key \d+ \(wmk_/g)).toHaveLength(20);
    expect(mail?.text).toContain("\nand 2 more\n");
  });
});

describe("purging", () => {
  it("deletes uses 90 days after the last one, and notices 90 days after the removal", async () => {
    await createTestUser(app, { organizationId: organization.id, role: "owner" });
    clock.advance(SUNSET_MS - DAY_MS - clock.now());
    await use();
    await openService().mailOwners();
    const service = openService([]);
    clock.advance(90 * DAY_MS);
    expect(await service.purgeExpired()).toBe(0);
    clock.advance(1);
    expect(await service.purgeExpired()).toBe(1);
    expect([await countRows("deprecation_use"), await countRows("deprecation_notice")]).toEqual([0, 1]);
    clock.advance(2 * DAY_MS);
    expect(await service.purgeExpired()).toBe(1);
  });

  it("deletes uses with their key", async () => {
    await use();
    await app.database.query(sql`delete from api_key where id = ${key.keyId}::uuid`);
    expect(await countRows("deprecation_use")).toBe(0);
  });
});
