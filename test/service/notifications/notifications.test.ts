/** Notifications: when they are due, who gets them, that each comes once, and what is posted to webhooks. */
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { createDataServices } from "../../../src/app/data-services.ts";
import { entities } from "../../../src/app/entities.ts";
import { suspend } from "../../support/app/suspend.ts";
import { createLogger } from "../../../src/core/logger.ts";
import { openDatabase, type Database } from "../../../src/core/postgres/database.ts";
import { raw, sql } from "../../../src/core/postgres/sql.ts";
import { MailService } from "../../../src/mail/service.ts";
import type { NotificationKind } from "../../../src/notifications/kinds.ts";
import {
  createNotify,
  NotificationService,
  NotificationWorker,
  WebhookPoster,
} from "../../../src/notifications/api.ts";
import type { UserRole } from "../../../src/organizations/api.ts";
import { countDeliveries } from "../../../src/webhooks/api.ts";
import { listMailsTo } from "../../support/accounts/mails.ts";
import { createTestUser, type TestUser } from "../../support/accounts/session-client.ts";
import { startTestApp, type TestOrganization } from "../../support/app/app.fixture.ts";
import { createFakeClock, type FakeClock, DAY_MS, MINUTE_MS } from "../../support/fake-clock.ts";
import { testSecretBox } from "../../support/test-secret.ts";
import { finishPendingDeliveries } from "../../support/webhooks/delivery.fixture.ts";
import { startTestReceiver } from "../../support/webhooks/receiver.ts";

const FRIDAY = "2025-01-10T08:00:00Z";
const MONDAY = "2025-01-13T08:00:00Z";
const LATE = { scheduled_date: "2020-02-03" };

const app = await startTestApp({ WAYMARK_ROLE: "api", WEBHOOK_ALLOW_PRIVATE: "on" });
const other = await openDatabase({ url: app.databaseUrl, poolSize: 4, entities });
const receiver = await startTestReceiver();
const poster = new WebhookPoster({ allowPrivate: true, secretBox: testSecretBox });
const pageUrl = (path: string): string => `https://waymark.example${path}`;
const settings = new NotificationService({
  database: app.database,
  secretBox: testSecretBox,
  poster,
  pageUrl,
});
let clock: FakeClock;
let processes: NotificationWorker[];
let agent: TestOrganization;

beforeEach(async () => {
  await app.database.query(raw("truncate notification, notification_settings, mail"));
  clock = createFakeClock(Date.parse(FRIDAY));
  processes = [startProcess(app.database), startProcess(other)];
  agent = await app.createOrganization("agent");
  receiver.respond = () => ({ status: 200, body: "ok" });
  receiver.received.length = 0;
});

afterAll(async () => {
  await receiver[Symbol.asyncDispose]();
  await poster[Symbol.asyncDispose]();
  await other[Symbol.asyncDispose]();
  await app[Symbol.asyncDispose]();
});

const ignore = () => Promise.resolve();

/** The notification work of one process, with its own connections. */
function startProcess(database: Database): NotificationWorker {
  const mails = new MailService({ database, secretBox: testSecretBox, isSmtpConfigured: true });
  const { jobs } = createDataServices({ database, clock, notifyWorkers() {}, recordAccessChange: ignore });
  return new NotificationWorker({
    database,
    clock,
    logger: createLogger("silent"),
    notify: createNotify({ mails, pageUrl }),
    pageUrl,
    poster,
    jobs,
    countDeliveries: (id, since) => countDeliveries(database, id, since),
  });
}

async function user(role: UserRole, choices: Partial<Record<"mail" | "webhook", NotificationKind[]>> = {}) {
  const created = await createTestUser(app, { organizationId: agent.id, role });
  const notified = { id: created.id, role };
  const { mail = [], webhook = [] } = choices;
  const wanted = (await settings.view(notified)).choices.map(({ kind }) => ({
    kind,
    mail: mail.includes(kind),
    webhook: webhook.includes(kind),
  }));
  await settings.choose(notified, wanted);
  if (webhook.length > 0) {
    const context = { actor: { type: "user", id: created.id }, ipAddress: null, requestId: null } as const;
    await settings.setWebhook({ ...context, organizationId: agent.id }, notified, `${receiver.url}/${role}`);
  }
  return { ...created, role };
}

const sweep = (at?: string): Promise<void> => {
  if (at !== undefined) clock.jump(Date.parse(at) - clock.now());
  return (processes[0] as NotificationWorker).sweep();
};
const mailsTo = ({ email }: TestUser) => listMailsTo(app, email);
const setZone = (zone: string) =>
  app.database.query(sql`update organization set time_zone = ${zone} where id = ${agent.id}::uuid`);
const posts = () => receiver.received.map(({ body }) => (JSON.parse(body) as { text: string }).text);

describe("the morning list", () => {
  it.each([
    // The clocks change on the second day.
    ["Europe/London", "2025-03-29T08:00:00Z", "2025-03-30T07:00:00Z"],
    ["Europe/London", "2025-10-25T07:00:00Z", "2025-10-26T08:00:00Z"],
    ["America/New_York", "2025-03-08T13:00:00Z", "2025-03-09T12:00:00Z"],
    // Already the next day in UTC, or still the former one.
    ["Pacific/Auckland", "2025-01-09T19:00:00Z", "2025-01-10T19:00:00Z"],
    ["Asia/Kolkata", "2025-01-10T02:30:00Z", "2025-01-11T02:30:00Z"],
  ])("in %s comes once from 08:00, on both days", async (zone, first, second) => {
    await setZone(zone);
    await app.createJobs(agent, [{ patch: LATE }]);
    const viewer = await user("viewer", { mail: ["late_jobs"] });
    for (const [index, day] of [first, second].entries()) {
      await sweep(new Date(Date.parse(day) - MINUTE_MS).toISOString());
      expect(await mailsTo(viewer)).toHaveLength(index);
      for (const minutes of [0, 1, 120]) {
        await sweep(new Date(Date.parse(day) + minutes * MINUTE_MS).toISOString());
        expect(await mailsTo(viewer)).toHaveLength(index + 1);
      }
    }
  });

  it("comes after an outage until noon, and not in the afternoon", async () => {
    await app.createJobs(agent, [{ patch: LATE }]);
    const viewer = await user("viewer", { mail: ["late_jobs"] });
    await sweep("2025-01-10T12:00:00Z");
    expect(await mailsTo(viewer)).toEqual([]);
    await sweep("2025-01-11T11:59:00Z");
    expect(await mailsTo(viewer)).toHaveLength(1);
  });

  it("has at most 10 jobs, due longest first, their number, and links to the filter and the settings", async () => {
    const jobs = Array.from({ length: 12 }, (_, index) => ({
      markingNumber: `LATE-${agent.id}-${10 + index}`,
      patch: {
        // The later of two was planned earlier.
        scheduled_date: `2020-01-${10 + index}`,
        scheduled_delivery_date: `2020-02-${22 - index}`,
        recipient_name: "Ann Private",
        normalized_status: "in_transit",
      },
    }));
    await app.createJobs(agent, [...jobs, { patch: { scheduled_date: "2999-01-01" } }]);
    const owner = await user("owner", { mail: ["late_jobs"], webhook: ["late_jobs"] });
    await sweep();
    const [mail] = await mailsTo(owner);
    expect(mail).toMatchObject({ kind: "late_jobs", subject: "12 jobs are late" });
    const longestFirst = Array.from({ length: 10 }, (_, index) => [21 - index, 11 + index]);
    for (const text of [mail?.text ?? "", ...posts()]) {
      const listed = [...text.matchAll(/^LATE-.+-(\d\d): in transit, due (\d\d) February$/gm)];
      expect(listed.map(([, job, day]) => [Number(job), Number(day)])).toEqual(longestFirst);
      expect(text).toContain("And 2 more.");
      expect(text).toContain("https://waymark.example/jobs?late=true");
      expect(text).not.toContain("Private");
    }
    expect(mail?.text).toContain("https://waymark.example/notifications");
    expect(posts()).toHaveLength(1);
  });

  it("does not come on a day on which nothing was late at 08:00", async () => {
    const owner = await user("owner", { mail: ["late_jobs"], webhook: ["late_jobs"] });
    await sweep();
    await app.createJobs(agent, [{ patch: LATE }]);
    await sweep("2025-01-10T09:00:00Z");
    expect([await mailsTo(owner), posts()]).toEqual([[], []]);
    await sweep("2025-01-11T08:00:00Z");
    expect([(await mailsTo(owner)).length, posts().length]).toEqual([1, 1]);
  });
});

describe("each notification", () => {
  it("comes once with two processes at the same time, and after a restart", async () => {
    await app.createJobs(agent, [{ patch: LATE }]);
    const users = await Promise.all(
      (["owner", "dispatcher", "viewer"] as const).map((role) =>
        user(role, { mail: ["late_jobs"], webhook: ["late_jobs"] }),
      ),
    );
    await Promise.all([...processes, ...processes, ...processes].map((process) => process.sweep()));
    await startProcess(app.database).sweep();
    for (const each of users) expect(await mailsTo(each)).toHaveLength(1);
    expect(receiver.received.map(({ path }) => path).toSorted()).toEqual(
      ["dispatcher", "owner", "viewer"].map((role) => `/webhooks/${role}`),
    );
  });

  it.each([
    ["lost the role", (id: string) => sql`update user_account set role = 'developer' where id = ${id}::uuid`],
    ["was removed", (id: string) => sql`delete from user_account where id = ${id}::uuid`],
  ])("does not come to a user who %s, also if it was queued before", async (_title, change) => {
    await app.createJobs(agent, [{ patch: LATE }]);
    receiver.respond = () => ({ status: 500 });
    const former = await user("dispatcher", { mail: ["late_jobs"], webhook: ["late_jobs"] });
    await sweep();
    await app.database.query(raw("update notification set due_at = now()"));
    await app.database.query(change(former.id));
    await sweep("2025-01-11T08:00:00Z");
    expect([(await mailsTo(former)).length, receiver.received.length]).toEqual([1, 1]);
  });

  it("does not come to users of a suspended organisation", async () => {
    await app.createJobs(agent, [{ patch: LATE }]);
    await expiringKey();
    const all: NotificationKind[] = ["late_jobs", "weekly_digest", "key_expiring"];
    const owner = await user("owner", { mail: all, webhook: all });
    await suspend(app.database, agent.id);
    await sweep(MONDAY);
    await processes[0]?.remind();
    expect([await mailsTo(owner), posts()]).toEqual([[], []]);
  });

  it("is deleted after 30 days", async () => {
    await app.createJobs(agent, [{ patch: LATE }]);
    await user("viewer", { mail: ["late_jobs"] });
    await sweep();
    await app.database.query(sql`update notification set created_at = ${new Date(clock.now())}`);
    const count = async (days: number) => {
      clock.jump(days * DAY_MS);
      await processes[0]?.remind();
      return (await app.database.query(raw("select from notification"))).length;
    };
    expect([await count(29), await count(2)]).toEqual([1, 0]);
  });
});

it("the weekly digest comes on Monday with the jobs that were due in the week, and deliveries for those who see them", async () => {
  await app.createJobs(agent, [
    { patch: { scheduled_date: "2025-01-06", normalized_status: "completed" } },
    { patch: { scheduled_date: "2025-01-12", normalized_status: "completed" } },
    { patch: { scheduled_date: "2025-01-12", normalized_status: "failed" } },
    { patch: { scheduled_date: "2025-01-13", normalized_status: "completed" } },
    { patch: { scheduled_date: "2025-01-05", normalized_status: "failed" } },
  ]);
  const roles = ["owner", "developer", "dispatcher", "viewer"] as const;
  const users = await Promise.all(roles.map((role) => user(role, { mail: ["weekly_digest"] })));
  await sweep("2025-01-12T08:00:00Z");
  for (const each of users) expect(await mailsTo(each)).toEqual([]);
  await sweep(MONDAY);
  await sweep("2025-01-13T08:20:00Z");
  for (const each of users) {
    const [{ subject, text } = { subject: "", text: "" }, ...more] = await mailsTo(each);
    expect(more).toEqual([]);
    expect(subject).toBe("Your week from 6 January to 12 January");
    expect(text).toContain("Jobs due: 3. Delivered: 2. Failed: 1.\nLate now: 2.");
    const seesDeliveries = each.role === "owner" || each.role === "developer";
    expect(text.includes("Webhook deliveries: none.")).toBe(seesDeliveries);
  }
});

it("the weekly digest has the share of the organisation's deliveries that succeeded", async () => {
  const rival = await app.createOrganization("agent");
  for (const each of [agent, rival]) {
    const body = JSON.stringify({ url: receiver.url });
    await app.call("/v1/webhook-endpoints", { method: "POST", key: each.key, body });
    const [endpoint = { id: "" }] = await app.database.query<{ id: string }>(
      sql`select id from webhook_endpoint where organization_id = ${each.id}::uuid`,
    );
    await app.createJobs(each, [{}, {}, {}]);
    await finishPendingDeliveries(app, endpoint.id, "failed", { count: each === agent ? 1 : 3 });
    await finishPendingDeliveries(app, endpoint.id, "delivered");
  }
  const owner = await user("owner", { mail: ["weekly_digest"] });
  await sweep(MONDAY);
  expect((await mailsTo(owner))[0]?.text).toContain("Webhook deliveries: 66.6 % of 3 succeeded.");
});

/** Creates a key that expires in 7 days, and was created `ageDays` ago. */
async function expiringKey({ ageDays = 30, organizationId = agent.id } = {}): Promise<string> {
  const { key } = await app.keys.create({ organizationId, name: "warehouse", createdBy: "test" });
  const expiresAt = new Date(clock.now() + 7 * DAY_MS);
  await app.database
    .query(sql`update api_key set expires_at = ${expiresAt}, created_at = ${new Date(clock.now() - ageDays * DAY_MS)}
    where id = ${key.id}::uuid`);
  return key.id;
}

const remind = () => Promise.all([...processes, ...processes].map((process) => process.remind()));

describe("the reminder of an expiring key", () => {
  it("comes once by mail to owners who chose nothing, and to developers who chose it", async () => {
    const owner = await createTestUser(app, { organizationId: agent.id, role: "owner" });
    const developer = await user("developer", { webhook: ["key_expiring"] });
    const silent = await createTestUser(app, { organizationId: agent.id, role: "developer" });
    await expiringKey();
    clock.jump(-MINUTE_MS);
    await remind();
    expect(await mailsTo(owner)).toEqual([]);
    clock.jump(MINUTE_MS);
    await remind();
    await sweep();
    clock.jump(DAY_MS);
    await remind();
    const [mail, ...more] = await mailsTo(owner);
    expect(more).toEqual([]);
    expect(mail?.subject).toBe("An API key expires soon: warehouse");
    expect(mail?.text).toContain("expires on 2025-01-17 08:00 UTC");
    expect([await mailsTo(developer), await mailsTo(silent)]).toEqual([[], []]);
    expect(posts()).toEqual([expect.stringContaining("The key warehouse (wmk_")]);
  });

  it("does not come for a rotated key, a short-lived one, a revoked one or a test key", async () => {
    const owner = await createTestUser(app, { organizationId: agent.id, role: "owner" });
    const rotated = await expiringKey();
    const successor = await expiringKey();
    await app.database.query(sql`
      update api_key set rate_bucket = ${rotated}::uuid, expires_at = null where id = ${successor}::uuid`);
    await expiringKey({ ageDays: 0 });
    const revoked = await expiringKey();
    await app.database.query(sql`update api_key set revoked_at = now() where id = ${revoked}::uuid`);
    const testKey = { organizationId: agent.id, name: "test", createdBy: "test", testSide: "agent" } as const;
    const { key } = await app.keys.create(testKey);
    await expiringKey({ organizationId: key.organization?.id ?? "" });
    await remind();
    expect(await mailsTo(owner)).toEqual([]);
  });
});

/** Makes all posts due, sends them, and returns the number of requests so far. */
const posted = async (): Promise<number> => {
  await app.database.query(raw("update notification set due_at = now() where due_at is not null"));
  await sweep();
  return receiver.received.length;
};

it("a webhook gets JSON with an escaped text, and three attempts, and the settings show the failure until a success", async () => {
  receiver.respond = () => ({ status: 404, body: "no_service\n" });
  await app.createJobs(agent, [{ markingNumber: `<!channel>&${agent.id}`, patch: LATE }]);
  const { id } = await user("owner", { webhook: ["late_jobs"] });
  const view = () => settings.view({ id, role: "owner" });
  expect([await posted(), await posted(), await posted(), await posted()]).toEqual([1, 2, 3, 3]);
  expect(await view()).toMatchObject({
    webhookHost: `127.0.0.1:${receiver.port}`,
    webhookFailure: "404: no_service",
    webhookFailedAt: expect.any(String),
  });
  const [{ method, headers, body } = receiver.received[0]!] = receiver.received;
  expect([method, headers["content-type"]]).toEqual(["POST", "application/json"]);
  expect(Object.keys(JSON.parse(body) as object)).toEqual(["text"]);
  expect(posts()[0]).toContain(`&lt;!channel&gt;&amp;${agent.id}`);
  receiver.respond = () => ({ status: 200, body: "ok" });
  clock.jump(DAY_MS);
  expect(await posted()).toBe(4);
  expect(await view()).toMatchObject({ webhookFailure: null, webhookFailedAt: null });
  const old = sql`update notification set message = 'old', due_at = now(), created_at = now() - interval '25 hours'`;
  await app.database.query(old);
  expect(await posted()).toBe(4);
});
