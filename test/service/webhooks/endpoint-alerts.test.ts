/** Alert mails about failing and disabled endpoints: recipients and frequency. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { MailService } from "../../../src/mail/service.ts";
import { createLogger } from "../../../src/core/logger.ts";
import { createNotify } from "../../../src/notifications/api.ts";
import { newUuid, toTypedId } from "../../../src/core/ids.ts";
import { raw, sql } from "../../../src/core/postgres/sql.ts";
import { disableFailing } from "../../../src/webhooks/endpoints/disable-failing-endpoints.sql.ts";
import { createAlertNotifier } from "../../../src/webhooks/endpoints/alerts.ts";
import type { AlertNotifier } from "../../../src/webhooks/endpoints/alerts.ts";
import { createFakeClock, DAY_MS } from "../../support/fake-clock.ts";
import { listMailsTo } from "../../support/accounts/mails.ts";
import { headingInGuide } from "../../support/docs/guide-pages.ts";
import { testSecretBox } from "../../support/test-secret.ts";
import type { TestOrganization } from "../../support/app/app.fixture.ts";
import { startTestReceiver, type TestReceiver } from "../../support/webhooks/receiver.ts";
import { useDispatcherFixture, type RunningDispatcher } from "../../support/webhooks/dispatcher.fixture.ts";

const pageUrl = (path: string) => `https://waymark.example${path}`;

const rig = useDispatcherFixture();
let dispatcher: RunningDispatcher;
let tellOfTrouble: AlertNotifier;
let receiver: TestReceiver;

beforeAll(async () => {
  const { database } = rig.app;
  const mails = new MailService({ database, secretBox: testSecretBox, isSmtpConfigured: true });
  const logger = createLogger("silent");
  tellOfTrouble = createAlertNotifier({ notify: createNotify({ mails, pageUrl }), logger, pageUrl });
  dispatcher = await rig.startDispatcher({ alertNotifier: tellOfTrouble });
  receiver = await startTestReceiver({ respond: () => ({ status: 500 }) });
  await person(rig.agent, "owner");
  await person(rig.agent, "owner");
  await person(rig.agent, "dispatcher");
  await person(rig.contractor, "owner");
});

beforeEach(async () => {
  receiver.respond = () => ({ status: 500 });
  await rig.app.database.query(raw("delete from mail"));
});

afterAll(async () => {
  await receiver[Symbol.asyncDispose]();
});

async function person({ id, name }: TestOrganization, role: string): Promise<void> {
  const user = newUuid();
  const email = `${role}-${user}@${name.replaceAll(" ", "-")}.example`;
  await rig.app.database.query(sql`
    insert into user_account (id, name, email, organization_id, role)
    values (${user}, ${role}, ${email}, ${id}::uuid, ${role})`);
}

interface WrittenMail {
  recipient: string;
  kind: string;
  subject: string;
  redacted_text: string;
}

function written(): Promise<WrittenMail[]> {
  return rig.app.database.query<WrittenMail>(
    raw("select recipient, kind, subject, redacted_text from mail order by id"),
  );
}

/** Sends what is due with a dispatcher of its own, whose disposal waits until all results are recorded. */
async function dispatchDue(): Promise<void> {
  await using own = await rig.startDispatcher({ alertNotifier: tellOfTrouble });
  own.wake();
}

/** Runs attempts until each delivery of the endpoint has had this many. */
async function failTimes(endpointId: string, count: number): Promise<void> {
  const { database } = rig.app;
  const look = async (): Promise<boolean> => {
    await database.query(sql`
      update webhook_endpoint set blocked_until = null, circuit_step = null where id = ${endpointId}`);
    await database.query(sql`
      update webhook_delivery set due_at = clock_timestamp() - interval '1 s'
      where status = 'pending' and lease_token is null and attempts < ${count} and endpoint_id = ${endpointId}`);
    await rig.sweep(dispatcher);
    const rows = await rig.deliveries(endpointId);
    return rows.every(({ attempts, is_leased: isLeased }) => attempts === count && !isLeased);
  };
  await expect.poll(look).toBe(true);
}

describe("an endpoint that keeps failing", () => {
  it("causes one mail to each owner at the fourth failed attempt, for any number of failing events", async () => {
    const endpointId = await rig.createEndpoint({ url: `${receiver.url}?token=hidden` });
    await rig.app.createJobs(rig.agent, [{}, {}]);
    dispatcher.wake();
    await failTimes(endpointId, 3);
    expect(await written()).toEqual([]);
    await failTimes(endpointId, 4);
    // Alerts are written before the attempt is recorded.
    await rig.waitForStatus(endpointId, "failed");
    const mails = await written();
    expect(mails).toHaveLength(2);
    expect(new Set(mails.map(({ recipient }) => recipient)).size).toBe(2);
    for (const { recipient, kind, subject, redacted_text: text } of mails) {
      expect(recipient).toMatch(/^owner-.*@agent-/);
      expect(kind).toBe("endpoint_retries_failing");
      expect(subject).toBe(`A webhook endpoint keeps failing: 127.0.0.1:${receiver.port}`);
      expect(text).toContain("Four attempts in a row");
      expect(subject + text).not.toContain("hidden");
      const [sent] = await listMailsTo(rig.app, recipient);
      const [, target = ""] = /https:\/\/waymark\.example\/guide\/(\S+)/.exec(sent?.text ?? "") ?? [];
      expect(await headingInGuide(target)).toBe("Troubleshoot webhooks");
    }
    await rig.app.database.query(sql`update webhook_endpoint set status = 'paused' where id = ${endpointId}`);
  });

  it("causes another mail only after a recovery and a day later", async () => {
    const endpointId = await rig.createEndpoint({ url: receiver.url });
    const again = async (): Promise<number> => {
      await rig.app.database.query(sql`delete from webhook_delivery where endpoint_id = ${endpointId}`);
      await rig.app.createJobs(rig.agent, [{}]);
      dispatcher.wake();
      await failTimes(endpointId, 4);
      await rig.waitForStatus(endpointId, "failed");
      const { length } = await written();
      await rig.app.database.query(raw("delete from mail"));
      return length;
    };
    const setAlertHistory = (ago: string, failing: string): Promise<unknown> =>
      rig.app.database.query(sql`
        update webhook_endpoint set last_alert_at = now() - ${ago}::interval, failing_since = now() - ${failing}::interval
        where id = ${endpointId}`);
    expect(await again()).toBe(2);
    expect(await again()).toBe(0);
    // It has not recovered.
    await setAlertHistory("2 days", "3 days");
    expect(await again()).toBe(0);
    // It has recovered, but the last mail was sent today.
    await setAlertHistory("23 hours", "1 hour");
    expect(await again()).toBe(0);
    await setAlertHistory("25 hours", "1 hour");
    expect(await again()).toBe(2);
    await rig.app.database.query(sql`update webhook_endpoint set status = 'paused' where id = ${endpointId}`);
  });
});

describe("a disabled endpoint", () => {
  it("causes one mail after a 410", async () => {
    receiver.respond = () => ({ status: 410 });
    await rig.createEndpoint({ url: receiver.url });
    await rig.app.createJobs(rig.agent, [{}, {}, {}]);
    await dispatchDue();
    const mails = await written();
    expect(mails).toHaveLength(2);
    const [mail] = mails;
    expect(mail).toMatchObject({ kind: "endpoint_gone" });
    expect(mail?.redacted_text).toContain("410 Gone");
    await dispatchDue();
    expect(await written()).toHaveLength(2);
  });

  it("causes a mail after five days of failures", async () => {
    const { database } = rig.app;
    const clock = createFakeClock();
    const endpointId = await rig.createEndpoint({ url: receiver.url });
    const since = new Date(clock.now() - 6 * DAY_MS);
    await database.query(sql`update webhook_endpoint set failing_since = ${since} where id = ${endpointId}`);
    for (const agoMs of [6 * DAY_MS, 5 * DAY_MS]) {
      const at = new Date(clock.now() - agoMs);
      const delivery = newUuid(at.getTime());
      await database.query(sql`
        insert into webhook_delivery (id, endpoint_id, event_id, event_type, attempts, due_at)
        values (${delivery}, ${endpointId}, ${newUuid()}, 'job.updated', 1, now() + interval '1 day')`);
      await database.query(sql`
        insert into webhook_attempt (id, delivery_id, number, started_at, duration_ms, outcome, request_headers)
        values (${newUuid()}, ${delivery}, 1, ${at}, 10, 'http_500', '{}')`);
    }
    const disabled = await disableFailing(database, "live", tellOfTrouble);
    expect(disabled.map(({ id }) => id)).toEqual([toTypedId("whe", endpointId)]);
    expect((await written()).map(({ kind }) => kind)).toEqual(["endpoint_failing", "endpoint_failing"]);
  });

  it("stays disabled if the mail cannot be enqueued", async () => {
    receiver.respond = () => ({ status: 410 });
    const agent = await rig.app.createOrganization("agent");
    await rig.app.database.query(sql`
      insert into user_account (id, name, email, organization_id, role)
      values (${newUuid()}, 'x', 'no address', ${agent.id}::uuid, 'owner')`);
    const endpointId = await rig.createEndpoint({ url: receiver.url }, agent);
    await rig.app.createJobs(agent, [{}]);
    await dispatchDue();
    const rows = await rig.app.database.query(
      sql`select status from webhook_endpoint where id = ${endpointId}`,
    );
    expect(rows).toEqual([{ status: "disabled" }]);
    expect(await written()).toEqual([]);
  });
});
