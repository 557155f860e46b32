/** The mail outbox in GraphQL, for operators only. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MailService } from "../../src/mail/service.ts";
import { raw } from "../../src/core/postgres/sql.ts";
import { queryData } from "../support/graphql/client.ts";
import { createSignedInUser } from "../support/accounts/signed-in-user.ts";
import { LINK_TOKEN, newMailTo } from "../support/mail.fixture.ts";
import { testSecretBox } from "../support/test-secret.ts";
import { eventuallyTruthy } from "../support/eventually.ts";
import { startTestApp } from "../support/app/app.fixture.ts";

const OUTBOX = `query ($status: MailStatus) { mailOutbox(status: $status, first: 2) {
  nodes { id to status text } } }`;
const RESEND = "mutation ($id: ID!) { resendMail(id: $id) { mail { id status } userErrors { code field } } }";

const app = await startTestApp();
const key = await app.createKey(null);

beforeAll(async () => {
  const mails = new MailService({
    database: app.database,
    secretBox: testSecretBox,
    isSmtpConfigured: false,
  });
  for (const name of ["first", "second", "third"]) {
    await mails.enqueue(app.database, newMailTo(`${name}@waymark.example`));
    // Mails are listed by id, which has the millisecond.
    const enqueuedMs = Date.now();
    await eventuallyTruthy(() => Date.now() > enqueuedMs);
  }
  await eventuallyTruthy(async () => (await outbox({ status: "PENDING" })).length === 0);
});
afterAll(() => app[Symbol.asyncDispose]());

type Mails = { id: string; to: string; text: string; status: string }[];

const outbox = async (variables: Record<string, unknown> = {}): Promise<Mails> =>
  (await queryData(app, OUTBOX, { key, variables })).mailOutbox.nodes;
const resend = async (id: string) => (await queryData(app, RESEND, { key, variables: { id } })).resendMail;

describe("the outbox", () => {
  it("lists every mail to operators, newest first, and shows links if no mail server is configured", async () => {
    const addresses = (await outbox()).map(({ to }) => to);
    expect(addresses).toEqual(["third@waymark.example", "second@waymark.example"]);
    const person = await createSignedInUser(app, null);
    const { mailOutbox } = await person.queryData(OUTBOX);
    expect(mailOutbox.nodes[0].text).toContain(`#token=${LINK_TOKEN}`);
  });

  it("hides links from keys, which could otherwise use them to act as a user", async () => {
    const { text } = (await outbox({ status: "STORED" }))[0]!;
    expect(text).toContain("[link]");
    expect(text).not.toContain(LINK_TOKEN);
  });
});

describe("resending", () => {
  it("queues a failed mail again and records it in the audit log", async () => {
    const [mail] = await outbox();
    const id = mail?.id ?? "";
    await app.database.query(raw("update mail set status = 'failed' where recipient like 'third@%'"));
    expect(await resend(id)).toEqual({ mail: { id, status: "PENDING" }, userErrors: [] });
    await expect.poll(async () => (await outbox())[0]?.status).toBe("STORED");
    const acts = await app.database.query(
      raw("select action, subject from audit_entry where action = 'mail.resent'"),
    );
    expect(acts).toEqual([{ action: "mail.resent", subject: id }]);
  });

  it.each(["eml_00000000000000000000000000", "mail"])("refuses the unknown id %s", async (id) => {
    expect(await resend(id)).toEqual({ mail: null, userErrors: [{ code: "NOT_FOUND", field: "id" }] });
  });
});
