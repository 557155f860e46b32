/** Mails from their transaction to a mail server that accepts, rejects or is unavailable. */
import { describe, expect, it } from "vitest";
import { leaseDue, RETRY_SCHEDULE } from "../../../src/mail/queue.ts";
import { systemActor } from "../../../src/core/principal.ts";
import { startTestSmtpServer } from "../../support/smtp-server.ts";
import { SENDER, LINK_TOKEN, newMailTo, useMailFixture } from "../../support/mail.fixture.ts";
import { eventually } from "../../support/eventually.ts";

const OPERATOR = { actor: systemActor, ipAddress: null, requestId: null };

const rig = useMailFixture();

describe("a mail", () => {
  it("is sent when its transaction commits, without a sweep", async () => {
    const worker = rig.startSmtpWorker();
    await rig.database.transaction(async (tx) => {
      await rig.mails.enqueue(tx, newMailTo("agent@waymark.example"));
      expect(await rig.outbox()).toEqual([]);
    });
    await eventually(() => expect(rig.server.received).toHaveLength(1));
    const [mail] = rig.server.received;
    expect(mail).toMatchObject({
      subject: "Welcome",
      from: SENDER,
      to: [{ name: "", address: "agent@waymark.example" }],
      recipients: ["agent@waymark.example"],
    });
    expect(mail?.text).toContain(`https://waymark.example/register#token=${LINK_TOKEN}`);
    expect(mail?.html).toContain(`<a href="https://waymark.example/register#token=${LINK_TOKEN}"`);
    await eventually(async () =>
      expect(await rig.onlyMail()).toMatchObject({
        status: "sent",
        attempts: 1,
        lastError: null,
        nextAttemptAt: null,
      }),
    );
    expect((await rig.onlyMail()).sentAt).not.toBeNull();
    await worker[Symbol.asyncDispose]();
  });

  // evidence: mail-rolled-back-not-sent
  it("is never sent if its transaction is rolled back", async () => {
    await rig.database.transaction(
      (tx) => rig.mails.enqueue(tx, newMailTo("agent@waymark.example")),
      "rollback",
    );
    await using worker = rig.startSmtpWorker();
    await worker.sweep();
    expect(rig.server.received).toEqual([]);
    expect(await rig.outbox()).toEqual([]);
  });

  it("has the same Message-ID at each attempt, and headers against automatic replies", async () => {
    await rig.mails.enqueue(rig.database, newMailTo("agent@waymark.example"));
    const { id } = await rig.onlyMail();
    await using worker = rig.startSmtpWorker();
    await worker.sweep();
    const headers = new Map(rig.server.received[0]?.headers.map(({ key, value }) => [key, value]));
    expect(headers.get("message-id")).toBe(`<${id}@waymark.example>`);
    expect(headers.get("auto-submitted")).toBe("auto-generated");
  });

  it("has its body encrypted in the database before it is sent, and deleted after", async () => {
    await rig.mails.enqueue(rig.database, newMailTo("agent@waymark.example"));
    expect(await rig.dump()).not.toContain(LINK_TOKEN);
    expect(await rig.dump()).toContain("s1.");
    await using worker = rig.startSmtpWorker();
    await worker.sweep();
    expect(await rig.dump()).not.toContain("s1.");
    expect((await rig.onlyMail()).text).toContain("Register:\n[link]");
    expect((await rig.onlyMail()).text).not.toContain("token");
  });
});

describe("a mail server that rejects a mail", () => {
  it("gets it again after a 4xx, at the scheduled time", async () => {
    rig.server.rejections.message.push({ code: 451, message: "try later" });
    await rig.mails.enqueue(rig.database, newMailTo("agent@waymark.example"));
    await using worker = rig.startSmtpWorker();
    const beganMs = Date.now();
    await worker.sweep();
    const waiting = await rig.onlyMail();
    expect(waiting).toMatchObject({
      status: "pending",
      attempts: 1,
      lastError: "451 try later",
      sentAt: null,
    });
    // The delay began at some time since `beganMs`.
    const dueMs = Date.parse(waiting.nextAttemptAt ?? "");
    expect(dueMs - beganMs).toBeGreaterThan(20_000);
    expect(dueMs - Date.now()).toBeLessThanOrEqual(30_000);
    await worker.sweep();
    expect(rig.server.received).toEqual([]);
    await rig.makeDue();
    await worker.sweep();
    expect(rig.server.received).toHaveLength(1);
    expect(await rig.onlyMail()).toMatchObject({ status: "sent", attempts: 2, lastError: null });
    expect(await rig.attempts()).toEqual({ pending: 1, sent: 1, stored: 0, failed: 0 });
  });

  it.each(["recipient", "message"] as const)(
    "fails it with a 5xx to the %s; it can be resent",
    async (what) => {
      rig.server.rejections[what].push({ code: 550, message: "no such mailbox" });
      await rig.mails.enqueue(rig.database, newMailTo("agent@waymark.example"));
      await using worker = rig.startSmtpWorker();
      await worker.sweep();
      const failed = await rig.onlyMail();
      expect(failed).toMatchObject({ status: "failed", attempts: 1, nextAttemptAt: null });
      expect(failed.lastError).toContain("550 no such mailbox");
      await rig.makeDue();
      await worker.sweep();
      expect(rig.server.received).toEqual([]);

      expect(await rig.mails.resend(OPERATOR, failed.id)).toMatchObject({ status: "pending", attempts: 0 });
      await worker.sweep();
      await eventually(async () => expect(await rig.onlyMail()).toMatchObject({ status: "sent" }));
      expect(rig.server.received).toHaveLength(1);
      await expect(rig.mails.resend(OPERATOR, failed.id)).rejects.toMatchObject({
        code: "ConflictException",
      });
    },
  );

  // evidence: mail-last-attempt-fails
  it("fails it after the last attempt of the schedule", async () => {
    await rig.mails.enqueue(rig.database, newMailTo("agent@waymark.example"));
    await using worker = rig.startSmtpWorker();
    for (let attempt = 1; attempt <= RETRY_SCHEDULE.length; attempt += 1) {
      rig.server.rejections.message.push({ code: 421, message: "busy" });
      await rig.makeDue();
      await worker.sweep();
      const status = attempt < RETRY_SCHEDULE.length ? "pending" : "failed";
      expect(await rig.onlyMail()).toMatchObject({ status, attempts: attempt });
    }
  });

  it("leaves neither the SMTP password nor links in the log or outbox", async () => {
    await using locked = await startTestSmtpServer({
      authOptional: false,
      authMethods: ["PLAIN"],
      onAuth: ({ password = "" }, _session, callback) =>
        callback(new Error(`wrong: ${password} ${Buffer.from(String(password)).toString("base64")}`)),
    });
    await rig.mails.enqueue(rig.database, newMailTo("agent@waymark.example"));
    const refused = rig.startWorker(`smtp://waymark:pass%2Fword@localhost:${locked.port}`);
    await refused.sweep();
    // It would send again when its connection to PostgreSQL is ready.
    await refused[Symbol.asyncDispose]();
    // A wrong SMTP password is not a fault of the mail.
    expect(await rig.onlyMail()).toMatchObject({
      status: "pending",
      lastError: "535 wrong: [secret] [secret]",
    });

    const message = `spam: https://waymark.example/register#token=${LINK_TOKEN}`;
    rig.server.rejections.message.push({ code: 554, message });
    await rig.makeDue();
    await using worker = rig.startSmtpWorker();
    await worker.sweep();
    expect((await rig.onlyMail()).lastError).toContain("spam: [link]");
    expect(rig.log.join()).toContain("mail");
    for (const text of [await rig.dump(), rig.log.join()]) {
      expect(text).not.toContain("pass/word");
      expect(text).not.toContain(LINK_TOKEN);
    }
  });
});

describe("two workers", () => {
  it("never lease the same mail, and do not wait for each other", async () => {
    await rig.mails.enqueue(rig.database, newMailTo("agent@waymark.example"));
    await rig.database.transactional(async (em, tx) => {
      expect(await leaseDue({ transactional: (work) => work(em, tx) })).not.toBeNull();
      await em.flush();
      expect(await leaseDue(rig.database)).toBeNull();
    });
    expect(await leaseDue(rig.database)).toBeNull();
  });

  it("leave a mail that the other is sending, and take it over when its lease expires", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    rig.server.acceptAfter = promise;
    await rig.mails.enqueue(rig.database, newMailTo("agent@waymark.example"));
    const slow = rig.startSmtpWorker();
    void slow.sweep();
    await eventually(() => expect(rig.server.delayedCount).toBe(1));
    // It leases nothing more. Otherwise it could take the mail again itself, when its LISTEN connection is ready.
    const stopping = slow[Symbol.asyncDispose]();
    await using other = rig.startSmtpWorker();
    await other.sweep();
    expect(await rig.onlyMail()).toMatchObject({ attempts: 1 });

    // First, because the other worker sends as soon as the mail is due if its LISTEN connection becomes ready then.
    rig.server.acceptAfter = null;
    await rig.makeDue();
    await other.sweep();
    expect(await rig.onlyMail()).toMatchObject({ status: "sent", attempts: 2 });
    const { sentAt } = await rig.onlyMail();
    resolve();
    await stopping;
    // The late worker's lease has expired, so it records nothing.
    expect(await rig.onlyMail()).toMatchObject({ status: "sent", attempts: 2, sentAt });
  });
});
