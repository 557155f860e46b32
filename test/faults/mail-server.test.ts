/** The mail server is down, hangs or refuses while traffic runs: nobody waits for it, and each mail arrives once. */
import { expect, it, onTestFinished, vi } from "vitest";
import { createMailService } from "../../src/mail/mail.service.ts";
import { raw, sql } from "../../src/platform/sql.ts";
import { startTraffic } from "../support/fault-traffic.ts";
import { freePort } from "../support/free-port.ts";
import { mailTo } from "../support/mail-rig.ts";
import { startMailServer } from "../support/mail-server.ts";
import { testBox } from "../support/secret.ts";
import { checkDelivered } from "../support/webhook-faults.check.ts";
import { eventually } from "../support/webhook-faults.load.ts";
import { openFaultWorld } from "../support/webhook-faults.ts";

vi.setConfig({ testTimeout: 120_000 });

// evidence: mail-server-outage
it("down, then refusing, then hanging: callers and webhooks go on, and every mail arrives, once", async () => {
  const world = await openFaultWorld();
  const port = await freePort();
  await world.addEndpoint();
  const numbers = await world.addJobs(5);
  const server = await world.start("all", {
    SMTP_URL: `smtp://127.0.0.1:${port}?tls=off`,
    MAIL_FROM: "no-reply@waymark.example",
  });
  const traffic = await startTraffic(world, server, numbers);
  const mails = createMailService({ database: world.database, box: testBox, isDelivered: true });
  for (const name of ["one", "two", "three"])
    await mails.enqueue(world.database, mailTo(`${name}@waymark.example`));
  await attempted(1);
  await traffic.succeeds();

  await using mailServer = await startMailServer({ port });
  mailServer.refusals.message.push(...Array.from({ length: 3 }, () => ({ code: 451, message: "later" })));
  await makeDue();
  await attempted(2);
  await traffic.succeeds();

  const { promise: hold, resolve: letGo } = Promise.withResolvers<void>();
  onTestFinished(() => letGo());
  mailServer.hold = hold;
  await makeDue();
  await eventually(() => expect(mailServer.held).toBe(3));
  await traffic.succeeds();
  letGo();
  await eventually(() => expect(mailServer.received).toHaveLength(3));
  await eventually(async () =>
    expect(await world.database.query(sql`select from mail where status <> 'sent'`)).toEqual([]),
  );
  expect(new Set(mailServer.received.flatMap(({ recipients }) => recipients)).size).toBe(3);
  expect(traffic.refused()).toBe(0);
  await traffic.check();
  await checkDelivered(world, { duplicates: 0 });

  async function attempted(attempts: number): Promise<void> {
    const waiting = sql`select from mail where status = 'waiting' and attempts = ${attempts} and lease_token is null`;
    await eventually(async () => expect(await world.database.query(waiting)).toHaveLength(3));
  }
  /** As if the time had come, and told as a new mail is. */
  async function makeDue(): Promise<void> {
    await world.database.query(raw("update mail set due_at = now() where status = 'waiting'"));
    await world.database.query(raw("select pg_notify('mails', '')"));
  }
});
