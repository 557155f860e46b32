/** Purging of expired sessions, rate limit buckets, idempotency records and API keys. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AccountRequest, EmailToken, purgeAccountData } from "../../../src/accounts/api.ts";
import { SESSION_IDLE_MS } from "../../../src/accounts/sessions/entity.ts";
import { purgeEndedKeys } from "../../../src/api-keys/changes.ts";
import { purgeBuckets } from "../../../src/rate-limits/rate-limit.sql.ts";
import { purgeIdempotencyRecords, trimIdempotencyRecords } from "../../../src/idempotency/purge.sql.ts";
import { newUuid, uuidV7Sql } from "../../../src/core/ids.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { createTestUser } from "../../support/accounts/session-client.ts";
import { DAY_MS } from "../../support/fake-clock.ts";
import { startTestApp, type TestApp } from "../../support/app/app.fixture.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app[Symbol.asyncDispose]());

const NOW_MS = Date.now();
const isoTime = (ms: number): string => new Date(ms).toISOString();

/** Inserts a session and a sign-in that waits for a two-factor code, labelled `name`. */
async function insert(name: string, { expiresMs = NOW_MS + DAY_MS, seenMs = NOW_MS }): Promise<void> {
  const { id } = await createTestUser(app, { organizationId: null, role: "operator" });
  await app.database.query(sql`
    insert into user_session (id, user_id, token, user_agent, created_at, updated_at, expires_at, last_seen_at)
    values (${uuidV7Sql}, ${id}::uuid, ${name}, ${name}, now(), now(), ${isoTime(expiresMs)}::timestamptz,
      ${isoTime(seenMs)}::timestamptz)`);
  await app.database.query(sql`
    insert into user_verification (id, identifier, value, expires_at)
    values (${uuidV7Sql}, ${name}, ${name}, ${isoTime(expiresMs)}::timestamptz)`);
}

async function remainingRows(names: string[]): Promise<{ sessions: string[]; verifications: string[] }> {
  const sessions = await app.database.query<{ name: string }>(
    sql`select distinct user_agent as name from user_session where user_agent = any(${names}) order by name`,
  );
  const verifications = await app.database.query<{ name: string }>(
    sql`select distinct value as name from user_verification where value = any(${names}) order by name`,
  );
  return { sessions: sessions.map(({ name }) => name), verifications: verifications.map(({ name }) => name) };
}

it("purges expired and idle sessions, and expired sign-ins", async () => {
  await insert("fresh", {});
  await insert("expired", { expiresMs: NOW_MS });
  await insert("idle", { seenMs: NOW_MS - SESSION_IDLE_MS });
  await purgeAccountData(app.database, { nowMs: NOW_MS, retentionDays: 30 });
  const remaining = await remainingRows(["fresh", "expired", "idle"]);
  expect(remaining).toEqual({ sessions: ["fresh"], verifications: ["fresh", "idle"] });
});

it("purges all rate limit buckets unused for a day, in batches", async () => {
  const bucket = (name: string, count: number, age: string) =>
    app.database.query(sql`
      insert into rate_limit_bucket (id, tokens, allowed, updated_at)
      select ${name} || number, 1, true, now() - ${age}::interval from generate_series(1, ${count}::int) number`);
  await bucket("old", 25, "25 hours");
  await bucket("fresh", 2, "23 hours");
  await purgeBuckets(app.database, 10);
  const rows = await app.database.query<{ id: string }>(
    sql`select id from rate_limit_bucket where id ~ '^(old|fresh)' order by id`,
  );
  expect(rows.map(({ id }) => id)).toEqual(["fresh1", "fresh2"]);
});

/** Inserts `count` records with the keys `name1`, `name2` and so on; the last one expires `expires` from now. */
async function insertRecords(
  organizationId: string,
  name: string,
  { count, expires, bytes = 100 }: { count: number; expires: string; bytes?: number },
): Promise<void> {
  await app.database.query(sql`
    insert into idempotency_record (organization_id, route, key, fingerprint, answer, bytes, expires_at)
    select ${organizationId}::uuid, 'PATCH', ${name} || number, '', '{}', ${bytes},
      now() + ${expires}::interval - (${count}::int - number) * interval '1 s'
    from generate_series(1, ${count}::int) number`);
}

async function recordsOf(organizationId: string): Promise<string[]> {
  const rows = await app.database.query<{ key: string }>(sql`
    select key from idempotency_record where organization_id = ${organizationId}::uuid order by expires_at`);
  return rows.map(({ key }) => key);
}

describe("idempotency records", () => {
  it("are all purged after 24 hours, in batches", async () => {
    const { id } = await app.createOrganization("agent");
    await insertRecords(id, "expired", { count: 25, expires: "-1 ms" });
    await insertRecords(id, "fresh", { count: 2, expires: "1 h" });
    await purgeIdempotencyRecords(app.database, 10);
    expect(await recordsOf(id)).toEqual(["fresh1", "fresh2"]);
  });

  it("are trimmed earlier, oldest first, for an organisation with too many records", async () => {
    const [greedy, modest] = [await app.createOrganization("agent"), await app.createOrganization("agent")];
    await insertRecords(greedy.id, "new", { count: 20, expires: "24 h" });
    await insertRecords(greedy.id, "old", { count: 25, expires: "23 h" });
    await insertRecords(modest.id, "kept", { count: 20, expires: "1 h" });
    const limits = { records: 20, bytes: 1_000_000 };
    expect(await trimIdempotencyRecords(app.database, limits, 10)).toBe(25);
    expect(await recordsOf(greedy.id)).toEqual(Array.from({ length: 20 }, (_, index) => `new${index + 1}`));
    expect(await recordsOf(modest.id)).toHaveLength(20);
    expect(await trimIdempotencyRecords(app.database, limits, 10)).toBe(0);
  });

  it("of test organisations count with those of their live one", async () => {
    const { id } = await app.createOrganization("agent");
    const options = { organizationId: id, name: "test", createdBy: "test", testSide: "agent" } as const;
    const { key } = await app.keys.create(options);
    await insertRecords(id, "live", { count: 15, expires: "24 h" });
    await insertRecords(key.organization?.id ?? "", "test", { count: 15, expires: "23 h" });
    expect(await trimIdempotencyRecords(app.database, { records: 20, bytes: 1_000_000 }, 10)).toBe(10);
    expect(await recordsOf(id)).toHaveLength(15);
    expect(await recordsOf(key.organization?.id ?? "")).toHaveLength(5);
  });

  it("are trimmed earlier for an organisation whose responses take too many bytes", async () => {
    const { id } = await app.createOrganization("agent");
    await insertRecords(id, "large", { count: 5, expires: "24 h", bytes: 1_000 });
    expect(await trimIdempotencyRecords(app.database, { records: 1_000, bytes: 2_500 }, 10)).toBe(3);
    expect(await recordsOf(id)).toEqual(["large4", "large5"]);
  });
});

it("purges only API keys that ended before the retention period", async () => {
  const { id: organizationId } = await app.createOrganization("agent");
  const endsInDays: Record<string, [revoked: number | null, expired: number | null]> = {
    "revoked long ago": [-8, 30],
    "expired long ago": [null, -8],
    "revoked today": [-6, null],
    "expired today": [null, -6],
    "ends later": [null, 8],
  };
  for (const [name, [revoked, expired]] of Object.entries(endsInDays)) {
    const { key } = await app.keys.create({ organizationId, name, createdBy: "test" });
    await app.database.query(sql`
      update api_key set revoked_at = now() + make_interval(days => ${revoked}),
        expires_at = now() + make_interval(days => ${expired}) where id = ${key.id}`);
  }
  await purgeEndedKeys(app.database, 7);
  const remaining = (await app.keys.list(organizationId)).map(({ name }) => name);
  expect(remaining.toSorted()).toEqual(["ends later", "expired today", "revoked today", "test"]);
});

// evidence: account-requests-purged
it("purges used and expired links, and account requests that were decided or forgotten", async () => {
  const day = (days: number): Date => new Date(NOW_MS + days * DAY_MS);
  const requests = [
    { status: "rejected", decidedAt: day(-31) },
    { status: "registered", decidedAt: day(-31) },
    { status: "pending", createdAt: day(-91) },
    { status: "rejected", decidedAt: day(-29) },
    { status: "pending", createdAt: day(-89) },
    { status: "approved", createdAt: day(-91), decidedAt: day(-91) },
  ].map((values, index) => ({
    id: newUuid(),
    email: `r${index}@purge.example`,
    organizationName: "Purge",
    organizationType: "agent",
    ...values,
  }));
  const approved = requests.at(-1)?.id ?? "";
  const links = [
    { kind: "password_reset", expiresAt: day(1), usedAt: day(0) },
    { kind: "password_reset", expiresAt: day(-1) },
    { kind: "invitation", expiresAt: day(1) },
    { kind: "registration", expiresAt: day(-1), subjectId: approved },
  ].map((values) => ({
    subjectId: newUuid(),
    email: "l@purge.example",
    tokenHash: randomBytes(32),
    ...values,
  }));
  await app.database.transactional(async (em) => {
    await em.insertMany(AccountRequest, requests as never[]);
    await em.insertMany(EmailToken, links as never[]);
  });
  await purgeAccountData(app.database, { nowMs: NOW_MS, retentionDays: 30 });
  const em = app.database.em();
  const left = await em.find(
    AccountRequest,
    { email: { $like: "%@purge.example" } },
    { orderBy: { email: "asc" } },
  );
  expect(left.map(({ email }) => email)).toEqual(["r3", "r4", "r5"].map((name) => `${name}@purge.example`));
  const tokens = await em.find(EmailToken, { email: "l@purge.example" }, { orderBy: { kind: "asc" } });
  expect(tokens.map(({ kind }) => kind)).toEqual(["invitation", "registration"]);
});
