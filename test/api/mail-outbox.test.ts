/** The mail outbox in GraphQL, for operators only. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MailService } from "../../src/mail/service.ts";
import { raw } from "../../src/core/postgres/sql.ts";
import { queryData } from "../support/graphql/client.ts";
import { createSignedInUser } from "../support/accounts/signed-in-user.ts";
import { LINK_TOKEN, newMailTo } from "../support/mail.fixture.ts";
import { testSecretBox } from "../support/test-secret.ts";
import { eventuallyTruthy } from "../support/eventually.ts";
import { startTestApp, type TestApp } from "../support/app/app.fixture.ts";

const OUTBOX = `query ($status: MailStatus, $after: String) { mailOutbox(status: $status, first: 2, after: $after) {
  nodes { id to subject kind status attempts text lastError sentAt } pageInfo { hasNextPage endCursor } } }`;
const RESEND = "mutation ($id: ID!) { resendMail(id: $id) { mail { id status } userErrors { code field } } }";

let app: TestApp;
let operator: string;

interface Outbox {
  mailOutbox: {
    nodes: { id: string; to: string; text: string; status: string }[];
    pageInfo: { hasNextPage: boolean; endCursor: string };
  };
}

beforeAll(async () => {
  app = await startTestApp();
  ({ text: operator } = await app.keys.create({ organizationId: null, name: "operator", createdBy: "test" }));
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
  await eventuallyTruthy(async () => (await outbox({ status: "PENDING" })).nodes.length === 0);
});
afterAll(() => app[Symbol.asyncDispose]());

async function outbox(variables: Record<string, unknown> = {}): Promise<Outbox["mailOutbox"]> {
  return ((await queryData(app, OUTBOX, { key: operator, variables })) as Outbox).mailOutbox;
}

/** Returns the first page. */
async function asPerson(): Promise<Outbox["mailOutbox"]> {
  return ((await (await createSignedInUser(app, null)).queryData(OUTBOX)) as Outbox).mailOutbox;
}

describe("the outbox", () => {
  it("lists every mail to operators, newest first, and shows links if no mail server is configured", async () => {
    const first = await outbox();
    expect(first.nodes.map(({ to }) => to)).toEqual(["third@waymark.example", "second@waymark.example"]);
    expect((await asPerson()).nodes[0]?.text).toContain(`#token=${LINK_TOKEN}`);
    const second = await outbox({ after: first.pageInfo.endCursor });
    expect(second.nodes.map(({ to }) => to)).toEqual(["first@waymark.example"]);
    expect(second.pageInfo.hasNextPage).toBe(false);
  });

  it("hides links from keys, which could otherwise use them to act as a user", async () => {
    const { text } = (await outbox({ status: "STORED" })).nodes[0]!;
    expect(text).toContain("[link]");
    expect(text).not.toContain(LINK_TOKEN);
  });
});

describe("resending", () => {
  it("queues a failed mail again and records it in the audit log", async () => {
    const [mail] = (await outbox()).nodes;
    const id = mail?.id ?? "";
    await app.database.query(raw("update mail set status = 'failed' where recipient like 'third@%'"));
    const { resendMail } = (await queryData(app, RESEND, { key: operator, variables: { id } })) as {
      resendMail: { mail: { id: string; status: string } };
    };
    expect(resendMail).toEqual({ mail: { id, status: "PENDING" }, userErrors: [] });
    await expect.poll(async () => (await outbox()).nodes[0]?.status).toBe("STORED");
    const acts = await app.database.query(
      raw("select action, subject from audit_entry where action = 'mail.resent'"),
    );
    expect(acts).toEqual([{ action: "mail.resent", subject: id }]);
  });

  it.each([
    ["a mail that has not failed", async () => (await outbox()).nodes[0]?.id ?? "", "CONFLICT"],
    ["an unknown mail", () => Promise.resolve("eml_00000000000000000000000000"), "NOT_FOUND"],
    ["an invalid id", () => Promise.resolve("mail"), "NOT_FOUND"],
  ])("refuses %s", async (_what, idOf, code) => {
    const variables = { id: await idOf() };
    const { resendMail } = (await queryData(app, RESEND, { key: operator, variables })) as {
      resendMail: unknown;
    };
    expect(resendMail).toEqual({ mail: null, userErrors: [{ code, field: "id" }] });
  });
});
