/** Mails without a mail server, and mails with malicious content. */
import { readdir, readFile, stat, rename } from "node:fs/promises";
import { join } from "node:path";
import PostalMime from "postal-mime";
import { describe, expect, it } from "vitest";
import { MailService } from "../../../src/mail/service.ts";
import { composeMail } from "../../../src/mail/template.ts";
import { systemActor } from "../../../src/core/principal.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { DAY_MS } from "../../support/fake-clock.ts";
import { LINK_TOKEN, newMailTo, useMailFixture } from "../../support/mail.fixture.ts";
import { testSecretBox } from "../../support/test-secret.ts";
import { setDateOffset } from "../../support/processes/fake-date.ts";

const OPERATOR = { actor: systemActor, ipAddress: null, requestId: null };

const rig = useMailFixture();

describe("without a mail server", () => {
  it("a mail is written to a file readable only by its owner, and the outbox shows it with its links", async () => {
    const here = new MailService({
      database: rig.database,
      secretBox: testSecretBox,
      isSmtpConfigured: false,
    });
    const shown = async () => (await here.list(rig.database, { limit: 10, after: null })).items;
    await here.enqueue(rig.database, newMailTo("agent@waymark.example"));
    expect((await shown())[0]?.text).not.toContain(LINK_TOKEN);
    const worker = rig.startWorker(null);
    await worker.sweep();
    await worker[Symbol.asyncDispose]();
    const [kept] = await shown();
    expect(kept).toMatchObject({ status: "stored", attempts: 1, nextAttemptAt: null });
    expect(kept?.text).toContain(`#token=${LINK_TOKEN}`);
    expect(await rig.dump()).not.toContain(LINK_TOKEN);
    // With a mail server the outbox hides links, also those of mails stored before.
    expect((await rig.onlyMail()).text).not.toContain(LINK_TOKEN);

    const [name] = await readdir(rig.folder);
    const path = join(rig.folder, name as string);
    expect(name).toMatch(/^\d{4}-\d\d-\d\dT[\d.-]+Z-eml_\w{26}\.eml$/);
    expect((await stat(path)).mode & 0o077).toBe(0);
    const parsed = await PostalMime.parse(await readFile(path));
    expect(parsed).toMatchObject({ subject: "Welcome", to: [{ address: "agent@waymark.example" }] });
    expect(parsed.text).toContain(`#token=${LINK_TOKEN}`);
    await expect(here.resend(OPERATOR, kept?.id ?? "")).rejects.toMatchObject({ code: "ConflictException" });

    // With a mail server, a stored mail can be sent.
    await rig.mails.resend(OPERATOR, kept?.id ?? "");
    await using second = rig.startSmtpWorker();
    await second.sweep();
    expect(rig.server.received).toHaveLength(1);
  });

  // evidence: mail-retention
  it("mails and their files are deleted after 30 days", async () => {
    await rig.mails.enqueue(rig.database, newMailTo("agent@waymark.example"));
    await using worker = rig.startWorker(null);
    await worker.sweep();
    const age = async (ms: number): Promise<void> => {
      const at = new Date(Date.now() - ms);
      await rig.database.query(sql`update mail set created_at = ${at}::timestamptz`);
      const fileTime = at.toISOString().replaceAll(":", "-");
      for (const name of await readdir(rig.folder))
        await rename(join(rig.folder, name), join(rig.folder, fileTime + name.slice(fileTime.length)));
    };
    await age(29 * DAY_MS);
    // PostgreSQL's clock decides, not the process's.
    setDateOffset(31 * DAY_MS);
    await worker.purgeExpired().finally(() => setDateOffset(0));
    expect(await rig.outbox()).toHaveLength(1);
    expect(await readdir(rig.folder)).not.toEqual([]);
    await age(30 * DAY_MS + 60_000);
    await worker.purgeExpired();
    expect(await rig.outbox()).toEqual([]);
    expect(await readdir(rig.folder)).toEqual([]);
  });
});

describe("text that users wrote", () => {
  // evidence: mail-user-text-escaped
  it("cannot inject a header, a recipient or markup", async () => {
    const subject = "Hi\r\nBcc: thief@waymark.example\u2028X-Evil: 1";
    const content = { subject, title: "<b>&\"'", paragraphs: ['<img src="x">\nsecond line'] };
    await rig.mails.enqueue(rig.database, composeMail("agent@waymark.example", "invitation", content));
    await using worker = rig.startSmtpWorker();
    await worker.sweep();
    const [mail] = rig.server.received;
    expect(mail?.recipients).toEqual(["agent@waymark.example"]);
    expect(mail?.headers.map(({ key }) => key)).not.toContain("bcc");
    expect(mail?.headers.map(({ key }) => key)).not.toContain("x-evil");
    expect(mail?.subject).toBe("Hi Bcc: thief@waymark.example X-Evil: 1");
    expect(mail?.html).toContain("&lt;img src=&quot;x&quot;&gt;<br>second line");
    expect(mail?.html).not.toContain("<img");
  });

  it.each([
    "a@waymark.example, b@waymark.example",
    "Name <a@waymark.example>",
    "a@waymark.example\r\nRCPT TO:<b@waymark.example>",
    '"a@b.example"@waymark.example',
    "",
    `${"a".repeat(250)}@waymark.example`,
  ])("is refused as an address where it is not exactly one: %j", async (to) => {
    await expect(rig.mails.enqueue(rig.database, newMailTo(to))).rejects.toThrow("one e-mail address");
    expect(await rig.outbox()).toEqual([]);
  });
});
