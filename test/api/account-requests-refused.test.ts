/** Account requests and their review: rejected requests. */
import { describe, expect, it } from "vitest";
import { fromTypedId } from "../../src/core/ids.ts";
import { raw, sql, type Sql } from "../../src/core/postgres/sql.ts";
import { newAccountRequest, openAccountRequestFixture } from "../support/accounts/account-request.fixture.ts";
import * as accounts from "../support/accounts/accounts.fixture.ts";
import { ACCOUNT_ENV } from "../support/accounts/mails.ts";
import { startTestApp } from "../support/app/app.fixture.ts";
import { eventually } from "../support/eventually.ts";

const { VALID_PASSWORD, createSessionClient, expectFailure, expectProblems, listMailsTo } = accounts;
const { app, agent, newUser } = await accounts.openAccounts();
const rig = await openAccountRequestFixture();

/** The payload of a review that failed with this error. */
const failure = (code: string, field: string) => ({ accountRequest: null, userErrors: [{ code, field }] });

describe("400", () => {
  it.each([{ email: "unknown", organization_name: "", organization_type: "shop" }, {}])(
    "names every problem of %j",
    async (body) => {
      const fields = ["email", "organization_name", "organization_type"];
      expectProblems(await rig.submit(body), "body", fields);
    },
  );

  it.each([
    ["a list of e-mail addresses", { email: "a@test.example,b@test.example" }],
    ["a mail header in the e-mail address", { email: "a@test.example\r\nBcc: b@test.example" }],
    ["an e-mail address with a display name", { email: "A <a@test.example>" }],
    ["a name that is too long", { organization_name: "x".repeat(121) }],
    ["a name with two lines", { organization_name: "a\nb" }],
    ["a name with a bidirectional override", { organization_name: "a\u202Eb" }],
    ["a name with U+0000", { organization_name: "a\0b" }],
    ["a lone surrogate", { organization_name: "a\uD800" }],
    ["a message that is too long", { message: "x".repeat(2_001) }],
    ["a message with U+0000", { message: "a\0b" }],
    ["a message that is not a string", { message: ["hello"] }],
  ])("refuses %s", async (_what, change) => {
    expectProblems(await rig.submit({ ...newAccountRequest(), ...change }), "body", Object.keys(change));
  });

  // evidence: account-request-text-rejected
  it("rejects reasons, questions, notes and names with invalid text", async () => {
    const { id } = await rig.submitAndWait();
    for (const [mutation, field, text] of [
      ["rejectAccountRequest", "reason", "  "],
      ["askAccountRequestQuestion", "question", "  "],
      ["addAccountRequestNote", "text", "  "],
      ["approveAccountRequest", "organizationName", "a\nb"],
    ] as const)
      expect(await rig.decide(mutation, { id, [field]: text })).toMatchObject(failure("INVALID", field));
  });
});

it("returns 404 for an unknown request", async () => {
  for (const id of ["arq_00000000000000000000000000", "nothing", "org_00000000000000000000000000"])
    expect(await rig.decide("approveAccountRequest", { id })).toMatchObject(failure("NOT_FOUND", "id"));
});

describe("409", () => {
  it("for an organisation name that is taken", async () => {
    const { id } = await rig.submitAndWait({ ...newAccountRequest(), organization_name: agent.name });
    const refused = await rig.decide("approveAccountRequest", { id });
    expect(refused).toMatchObject(failure("CONFLICT", "organizationName"));
    const organizationName = `${agent.name} North`;
    const approved = await rig.decide("approveAccountRequest", { id, organizationName });
    expect(approved).toMatchObject({ userErrors: [], accountRequest: { status: "APPROVED" } });
  });

  it("for a request that is already decided", async () => {
    const { id } = await rig.submitAndWait();
    await rig.decide("rejectAccountRequest", { id, reason: "No." });
    for (const [field, args] of [
      ["approveAccountRequest", { id }],
      ["rejectAccountRequest", { id, reason: "No." }],
      ["askAccountRequestQuestion", { id, question: "Why?" }],
      ["resendRegistration", { id }],
    ] as const) {
      const refused = await rig.decide(field, args);
      expect(refused).toMatchObject(failure("CONFLICT", "id"));
      expect(refused.userErrors[0].message).toContain(rig.operator.email);
    }
  });

  it("for an approval when the e-mail address has an account by now", async () => {
    const { id, email } = await rig.submitAndWait();
    const user = { email, name: "P", password: VALID_PASSWORD, organizationId: agent.id } as const;
    await app.database.transaction((tx) =>
      app.accounts.users.createUser(tx, { ...user, role: "dispatcher" }),
    );
    const [request] = await rig.findRequests(email);
    expect(request?.warnings).toEqual(["An account with this e-mail address already exists"]);
    const refused = await rig.decide("approveAccountRequest", { id });
    expect(refused).toMatchObject({ userErrors: [{ code: "CONFLICT" }] });
  });

  it("for a note if the request has 200", async () => {
    const { id } = await rig.submitAndWait();
    await app.database.query(sql`insert into account_request_note (id, request_id, by, kind, text)
      select gen_random_uuid(), ${fromTypedId("arq", id)}::uuid, 'a', 'note', 'b' from generate_series(1, 199)`);
    const note = () => rig.decide("addAccountRequestNote", { id, text: "Spoke to them." });
    expect(await note()).toMatchObject({ userErrors: [] });
    expect(await note()).toMatchObject({ userErrors: [{ code: "LIMIT_EXCEEDED" }] });
  });

  it("for all but one of several concurrent approvals, which create one organisation and one mail", async () => {
    const { id, email, organization_name: name } = await rig.submitAndWait();
    // With different names, as the same name could be taken only once anyway.
    const names = [1, 2, 3, 4].map((index) => `${name} ${index}`);
    const results = await Promise.all(
      names.map((organizationName) => rig.decide("approveAccountRequest", { id, organizationName })),
    );
    expect(results.filter(({ userErrors }) => userErrors.length === 0)).toHaveLength(1);
    const made = [
      sql`select from organization where name = any(${names})`,
      sql`select from mail where recipient = ${email} and kind = 'registration'`,
      sql`select from audit_entry where action = 'account_request.approved' and subject = ${id}`,
    ];
    for (const query of made) expect(await app.database.query(query)).toHaveLength(1);
  });
});

describe("429", () => {
  // evidence: account-request-limit-per-ip
  it("with Retry-After, after too many requests from one IP address", async () => {
    const from = accounts.randomClientIpHeader();
    for (let sent = 0; sent < 20; sent += 1)
      expect((await rig.submit(newAccountRequest(), from)).status).toBe(202);
    const refused = await rig.submit(newAccountRequest(), from);
    expectFailure(refused, 429);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await rig.submit(newAccountRequest())).status).toBe(202);
  });

  // evidence: account-request-limit-per-site
  it("after too many from one IPv6 /48, and mails no more than 120 people", async () => {
    await using own = await startTestApp(ACCOUNT_ENV);
    const submit = async (address: string): Promise<number> => {
      const headers = { "x-forwarded-for": address };
      const init = { method: "POST", headers, body: JSON.stringify(newAccountRequest()) };
      return (await createSessionClient(own).call("/auth/account-requests", init)).status;
    };
    for (let index = 0; index < 60; index += 1)
      expect(await submit(`2001:db8:1:${index.toString(16)}::1`)).toBe(202);
    expect([await submit("2001:db8:1:fff0::1"), await submit("2001:db8:1:fff1::1")]).toContain(429);
    for (let index = 2; index < 72; index += 1)
      expect(await submit(`2001:db8:${index.toString(16)}::1`)).toBe(202);
    const countRows = async (table: Sql) =>
      (await own.database.query<{ count: number }>(sql`select count(*)::int as count from ${table}`))[0]!
        .count;
    await eventually(async () => expect(await countRows(raw("account_request"))).toBeGreaterThanOrEqual(130));
    // Two more for each minute that the test takes.
    const mails = await countRows(raw("mail where kind = 'account_request_received'"));
    expect(mails).toBeGreaterThanOrEqual(120);
    expect(mails).toBeLessThan(130);
  });

  // evidence: account-mail-limit-per-recipient
  it("sends at most three mails in a row to one e-mail address, from any IP address", async () => {
    const { email } = await newUser();
    for (let sent = 0; sent < 6; sent += 1)
      expect((await rig.submit({ ...newAccountRequest(), email })).status).toBe(202);
    await rig.submitAndWait();
    expect(await listMailsTo(app, email)).toHaveLength(3);
  });
});
