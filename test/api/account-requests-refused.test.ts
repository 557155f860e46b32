/** Account requests and their review: rejected requests. */
import { beforeAll, describe, expect, it } from "vitest";
import { raw, sql, type Sql } from "../../src/core/postgres/sql.ts";
import { VALID_PASSWORD, createSessionClient, createTestUser } from "../support/accounts/session-client.ts";
import { ACCOUNT_ENV, listMailsTo, randomClientIpHeader } from "../support/accounts/mails.ts";
import {
  newAccountRequest,
  openAccountRequestFixture,
  type AccountRequestFixture,
} from "../support/accounts/account-request.fixture.ts";
import { expectFailure, expectProblems } from "../support/app/assertions.ts";
import { createSignedInUser, type SignedInTestUser } from "../support/accounts/signed-in-user.ts";
import { queryData, graphql } from "../support/graphql/client.ts";
import { startTestApp, type TestOrganization } from "../support/app/app.fixture.ts";
import { eventually } from "../support/eventually.ts";
import type { SharedApp } from "../support/app/shared-app.ts";

let rig: AccountRequestFixture;
let app: SharedApp;
let agent: TestOrganization;
let owner: SignedInTestUser;

beforeAll(async () => {
  rig = await openAccountRequestFixture();
  ({ app, agent } = rig);
  owner = await createSignedInUser(app, agent.id);
});

describe("400", () => {
  it("names every problem", async () => {
    expectProblems(
      await rig.submit({ email: "unknown", organization_name: "", organization_type: "shop" }),
      "body",
      ["email", "organization_name", "organization_type"],
    );
    expectProblems(await rig.submit({}), "body", ["email", "organization_name", "organization_type"]);
  });

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
  it("rejects reasons, questions and notes with invalid text", async () => {
    const { id } = await rig.submitAndWait();
    for (const [field, name] of [
      ["rejectAccountRequest", "reason"],
      ["askAccountRequestQuestion", "question"],
      ["addAccountRequestNote", "text"],
    ] as const)
      expect(await rig.decide(field, { id, [name]: "  " })).toMatchObject({
        accountRequest: null,
        userErrors: [{ code: "INVALID", field: name }],
      });
    expect(await rig.decide("approveAccountRequest", { id, organizationName: "a\nb" })).toMatchObject({
      accountRequest: null,
      userErrors: [{ code: "INVALID", field: "organizationName" }],
    });
  });
});

describe("403", () => {
  it("rejects the form from another origin", async () => {
    const init = {
      method: "POST",
      body: JSON.stringify(newAccountRequest()),
      headers: { origin: "https://evil.example" },
    };
    expectFailure(await app.call("/auth/account-requests", init), 403);
  });

  it.each([
    ["an owner", () => owner.headers],
    ["an organisation's key", () => ({ "x-api-key": agent.key })],
  ])("shows nothing to %s", async (_who, asking) => {
    const { id } = await rig.submitAndWait();
    const listed = await graphql(app, "{ accountRequests { nodes { id } } }", { headers: asking() });
    expect(listed.errors?.[0]?.extensions.code).toBe("FORBIDDEN");
    const found = await queryData(app, `query ($id: ID!) { node(id: $id) { id } }`, {
      headers: asking(),
      variables: { id },
    });
    expect(found.node).toBeNull();
  });
});

describe("404", () => {
  it("for an unknown request", async () => {
    for (const id of ["arq_00000000000000000000000000", "nothing", "org_00000000000000000000000000"])
      expect(await rig.decide("approveAccountRequest", { id })).toMatchObject({
        accountRequest: null,
        userErrors: [{ code: "NOT_FOUND", field: "id" }],
      });
  });
});

describe("409", () => {
  it("for an organisation name that is taken", async () => {
    const { id } = await rig.submitAndWait({ ...newAccountRequest(), organization_name: agent.name });
    expect(await rig.decide("approveAccountRequest", { id })).toMatchObject({
      accountRequest: null,
      userErrors: [{ code: "CONFLICT", field: "organizationName" }],
    });
    const approved = await rig.decide("approveAccountRequest", {
      id,
      organizationName: `${agent.name} North`,
    });
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
    ] as const)
      expect(await rig.decide(field, args)).toMatchObject({
        accountRequest: null,
        userErrors: [
          { code: "CONFLICT", field: "id", message: expect.stringContaining(rig.operator.email) as string },
        ],
      });
  });

  it("for an approval when the e-mail address has an account by now", async () => {
    const { id, email } = await rig.submitAndWait();
    const person = {
      email,
      name: "P",
      password: VALID_PASSWORD,
      organizationId: agent.id,
      role: "dispatcher",
    } as const;
    await app.database.transaction((tx) => app.accounts.users.createUser(tx, person));
    expect((await rig.findRequests(email))[0]?.warnings).toEqual([
      "An account with this e-mail address already exists",
    ]);
    expect(await rig.decide("approveAccountRequest", { id })).toMatchObject({
      userErrors: [{ code: "CONFLICT" }],
    });
  });

  it("for all but one of several concurrent approvals, which create one organisation and one mail", async () => {
    const { id, email, organization_name: name } = await rig.submitAndWait();
    // With different names, as the same name could be taken only once anyway.
    const names = [1, 2, 3, 4].map((index) => `${name} ${index}`);
    const results = await Promise.all(
      names.map((organizationName) => rig.decide("approveAccountRequest", { id, organizationName })),
    );
    expect(results.filter(({ userErrors }) => userErrors.length === 0)).toHaveLength(1);
    const made = await app.database.query(sql`select from organization where name = any(${names})`);
    expect(made).toHaveLength(1);
    expect((await listMailsTo(app, email)).filter(({ kind }) => kind === "registration")).toHaveLength(1);
    const acts = await app.database.query(
      sql`select from audit_entry where action = 'account_request.approved' and subject = ${id}`,
    );
    expect(acts).toHaveLength(1);
  });
});

describe("429", () => {
  // evidence: account-request-limit-per-ip
  it("with Retry-After, after too many requests from one IP address", async () => {
    const from = randomClientIpHeader();
    const statuses: number[] = [];
    for (let sent = 0; sent < 21; sent += 1)
      statuses.push((await rig.submit(newAccountRequest(), from)).status);
    expect(statuses.slice(0, 20)).toEqual(Array.from({ length: 20 }, () => 202));
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
    const statuses: number[] = [];
    for (let index = 0; index < 62; index += 1)
      statuses.push(await submit(`2001:db8:1:${index.toString(16)}::1`));
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(0);
    expect(statuses.slice(0, 60)).toEqual(Array.from({ length: 60 }, () => 202));
    for (let index = 2; index < 72; index += 1)
      expect(await submit(`2001:db8:${index.toString(16)}::1`)).toBe(202);
    const countRows = (table: Sql) =>
      own.database.query<{ count: number }>(sql`select count(*)::int as count from ${table}`);
    await eventually(async () =>
      expect((await countRows(raw("account_request")))[0]?.count).toBeGreaterThanOrEqual(130),
    );
    // Two more for each minute that the test takes.
    const [mails] = await countRows(raw("mail where kind = 'account_request_received'"));
    expect(mails?.count).toBeGreaterThanOrEqual(120);
    expect(mails?.count).toBeLessThan(130);
  });

  // evidence: account-mail-limit-per-recipient
  it("sends at most three mails in a row to one e-mail address, from any IP address", async () => {
    const person = await createTestUser(app, { organizationId: agent.id, role: "dispatcher" });
    for (let sent = 0; sent < 6; sent += 1)
      expect((await rig.submit({ ...newAccountRequest(), email: person.email })).status).toBe(202);
    await rig.submitAndWait();
    expect(await listMailsTo(app, person.email)).toHaveLength(3);
  });
});
