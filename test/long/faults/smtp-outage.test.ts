/** The SMTP server is down, rejects or hangs while traffic runs: requests are not delayed, and each mail arrives once. */
import { expect, it, onTestFinished, vi } from "vitest";
import { MailService } from "../../../src/mail/service.ts";
import { raw, sql } from "../../../src/core/postgres/sql.ts";
import { startFaultTraffic } from "../../support/faults/traffic.ts";
import { freePort } from "../../support/free-port.ts";
import { newMailTo } from "../../support/mail.fixture.ts";
import { startTestSmtpServer } from "../../support/smtp-server.ts";
import { testSecretBox } from "../../support/test-secret.ts";
import { verifyDeliveries } from "../../support/faults/delivery-checks.ts";
import { eventually } from "../../support/eventually.ts";
import { openFaultFixture } from "../../support/faults/webhook.fixture.ts";

vi.setConfig({ testTimeout: 120_000 });

// evidence: mail-server-outage
it("serves requests and webhooks, and sends every mail once, while SMTP is down, rejects and hangs", async () => {
  const fixture = await openFaultFixture();
  const port = await freePort();
  await fixture.addEndpoint();
  const numbers = await fixture.addJobs(5);
  const server = await fixture.startServer("all", {
    SMTP_URL: `smtp://127.0.0.1:${port}?tls=off`,
    MAIL_FROM: "no-reply@waymark.example",
  });
  const traffic = await startFaultTraffic(fixture, server, numbers);
  const mails = new MailService({
    database: fixture.database,
    secretBox: testSecretBox,
    isSmtpConfigured: true,
  });
  for (const name of ["one", "two", "three"])
    await mails.enqueue(fixture.database, newMailTo(`${name}@waymark.example`));
  await waitForAttempts(1);
  await traffic.waitForSuccesses();

  await using mailServer = await startTestSmtpServer({ port });
  mailServer.rejections.message.push(...Array.from({ length: 3 }, () => ({ code: 451, message: "later" })));
  await makeDue();
  await waitForAttempts(2);
  await traffic.waitForSuccesses();

  const { promise: hold, resolve: release } = Promise.withResolvers<void>();
  onTestFinished(() => release());
  mailServer.acceptAfter = hold;
  await makeDue();
  await eventually(() => expect(mailServer.delayedCount).toBe(3));
  await traffic.waitForSuccesses();
  release();
  await eventually(() => expect(mailServer.received).toHaveLength(3));
  await eventually(async () =>
    expect(await fixture.database.query(sql`select from mail where status <> 'sent'`)).toEqual([]),
  );
  expect(new Set(mailServer.received.flatMap(({ recipients }) => recipients)).size).toBe(3);
  expect(traffic.rejectedAnswers).toEqual([]);
  await traffic.stopAndVerify();
  await verifyDeliveries(fixture, { duplicates: 0 });

  async function waitForAttempts(attempts: number): Promise<void> {
    const waiting = sql`select from mail where status = 'pending' and attempts = ${attempts} and lease_token is null`;
    await eventually(async () => expect(await fixture.database.query(waiting)).toHaveLength(3));
  }
  /** Makes all pending mails due and notifies the worker. */
  async function makeDue(): Promise<void> {
    await fixture.database.query(raw("update mail set due_at = now() where status = 'pending'"));
    await fixture.database.query(raw("select pg_notify('mails', '')"));
  }
});
