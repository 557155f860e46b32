/** Account requests and their review, from the public form to the first sign-in. */
import { randomBytes } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { sql } from "../../src/core/postgres/sql.ts";
import {
  VALID_PASSWORD,
  createTestUser,
  createSessionClient,
  signIn,
} from "../support/accounts/session-client.ts";
import { waitForMail, listMailsTo, extractLinkToken } from "../support/accounts/mails.ts";
import {
  newAccountRequest,
  openAccountRequestFixture,
  type AccountRequestFixture,
} from "../support/accounts/account-request.fixture.ts";
import { expectData, expectFailure, withoutRequestId } from "../support/app/assertions.ts";
import type { ApiResponse } from "../support/app/app-instance.ts";
import type { TestOrganization } from "../support/app/app.fixture.ts";
import type { SharedApp } from "../support/app/shared-app.ts";

let rig: AccountRequestFixture;
let app: SharedApp;
let agent: TestOrganization;
let operatorKey: string;

beforeAll(async () => {
  rig = await openAccountRequestFixture();
  ({ app, agent } = rig);
  const { text } = await app.keys.create({ organizationId: null, name: "operator", createdBy: "test" });
  operatorKey = text;
});

function follow(path: string, body: object): Promise<ApiResponse> {
  return createSessionClient(app).post(`/auth/${path}`, body);
}

describe("200", () => {
  it("takes a request through a question, its answer and the approval to the first sign-in", async () => {
    const request = await rig.submitAndWait({
      ...newAccountRequest(),
      message: "We deliver in the north.\r\nSince 1990.",
    });
    const { id, email, organization_name: name } = request;

    const asked = await rig.decide("askAccountRequestQuestion", { id, question: "How many vans?" });
    expect(asked).toMatchObject({ userErrors: [], accountRequest: { status: "AWAITING_REPLY" } });
    const question = await waitForMail(app, email, "account_request_question");
    expect(question.text).toContain("How many vans?");
    const answerToken = extractLinkToken(question, "account-request");
    expect(expectData(await follow("links/check", { token: answerToken }))).toMatchObject({
      kind: "account_request_answer",
      email,
      organization_name: name,
      question: "How many vans?",
    });
    expectData(await follow("account-requests/answer", { token: answerToken, message: "Twelve." }));
    expectFailure(await follow("account-requests/answer", { token: answerToken, message: "More." }), 404);

    await rig.decide("addAccountRequestNote", { id, text: "Spoke to them." });
    const approved = await rig.decide("approveAccountRequest", { id });
    expect(approved).toMatchObject({
      userErrors: [],
      accountRequest: {
        status: "APPROVED",
        decidedBy: rig.operator.email,
        organization: { name, type: "AGENT" },
        notes: [
          { kind: "QUESTION", by: rig.operator.email, text: "How many vans?" },
          { kind: "ANSWER", by: email, text: "Twelve." },
          { kind: "NOTE", by: rig.operator.email, text: "Spoke to them." },
          { kind: "APPROVAL", by: rig.operator.email },
        ],
      },
    });
    expect(Date.parse(approved.accountRequest.registrationExpiresAt)).toBeGreaterThan(
      Date.now() + 71 * 3_600_000,
    );

    const token = extractLinkToken(await waitForMail(app, email, "registration"), "register");
    expect(expectData(await follow("links/check", { token }))).toMatchObject({
      kind: "registration",
      email,
      organization_name: name,
      question: null,
    });
    expectData(await follow("links/accept", { token, name: "First Owner", password: VALID_PASSWORD }));

    const owner = await signIn(app, { email, password: VALID_PASSWORD });
    expect(expectData(await owner.get("/auth/session"))).toMatchObject({
      user: { email, name: "First Owner", role: "owner" },
      organization: { name, type: "agent" },
    });
    const [registered] = await rig.findRequests(email);
    expect(registered).toMatchObject({ id, status: "REGISTERED" });

    const actions = await rig.operator.queryData(
      `{ auditLog(first: 100) { nodes { action subject actor } } }`,
    );
    const about = actions.auditLog.nodes.filter((node: { subject: string }) => node.subject === id);
    expect(about.map((node: { action: string }) => node.action)).toEqual([
      "account_request.approved",
      "account_request.noted",
      "account_request.answered",
      "account_request.asked",
      "account_request.received",
    ]);
  });

  it("mails no text from the form to an unverified e-mail address", async () => {
    const name = "Free prizes at http://prizes.example";
    const { email } = await rig.submitAndWait({
      ...newAccountRequest(),
      organization_name: name,
      message: "Call 555 0100",
    });
    const { subject, text } = await waitForMail(app, email, "account_request_received");
    expect(`${subject} ${text}`).not.toMatch(/prizes|555/);
  });

  it("keeps the paragraphs of the message and lower-cases the e-mail address", async () => {
    const request = newAccountRequest();
    const given = { ...request, email: ` ${request.email.toUpperCase()} `, message: " one\r\n\r\ntwo " };
    await rig.submit(given);
    await waitForMail(app, request.email, "account_request_received");
    const [row] = await app.database.query(
      sql`select message, email from account_request where email = ${request.email}`,
    );
    expect(row).toEqual({ message: "one\n\ntwo", email: request.email });
  });

  it("rejects a request and mails the reason", async () => {
    const { id, email } = await rig.submitAndWait();
    const rejected = await rig.decide("rejectAccountRequest", {
      id,
      reason: "We do not deliver there <yet>.",
    });
    expect(rejected).toMatchObject({
      userErrors: [],
      accountRequest: { status: "REJECTED", organization: null },
    });
    expect((await waitForMail(app, email, "account_request_rejected")).text).toContain(
      "We do not deliver there <yet>.",
    );
  });

  it("invalidates the question's link on the decision", async () => {
    const { id, email } = await rig.submitAndWait();
    await rig.decide("askAccountRequestQuestion", { id, question: "Who are you?" });
    const token = extractLinkToken(
      await waitForMail(app, email, "account_request_question"),
      "account-request",
    );
    await rig.decide("rejectAccountRequest", { id, reason: "No." });
    expectFailure(await follow("account-requests/answer", { token, message: "We are" }), 404);
    expect((await rig.findRequests(email))[0]).toMatchObject({ status: "REJECTED" });
  });

  it("invalidates the previous question's link on a new question", async () => {
    const { id, email } = await rig.submitAndWait();
    await rig.decide("askAccountRequestQuestion", { id, question: "First?" });
    const first = extractLinkToken(
      await waitForMail(app, email, "account_request_question"),
      "account-request",
    );
    await rig.decide("askAccountRequestQuestion", { id, question: "Second?" });
    expectFailure(await follow("links/check", { token: first }), 404);
  });

  it("approves with another name, by an operator's key", async () => {
    const { id } = await rig.submitAndWait();
    const organizationName = `Other ${randomBytes(4).toString("hex")}`;
    const approved = await rig.decide(
      "approveAccountRequest",
      { id, organizationName },
      { headers: { "x-api-key": operatorKey, origin: "", cookie: "" } },
    );
    expect(approved).toMatchObject({
      userErrors: [],
      accountRequest: { organization: { name: organizationName } },
    });
    expect(approved.accountRequest.decidedBy).toMatch(/^key_/);
  });

  it("accepts a new request after a rejection, and warns the operators", async () => {
    const { id, ...request } = await rig.submitAndWait();
    await rig.decide("rejectAccountRequest", { id, reason: "Not yet." });
    await rig.submit(request);
    await rig.submitAndWait();
    const [again] = await rig.findRequests(request.email);
    expect(again).toMatchObject({
      status: "PENDING",
      warnings: ["An earlier request from this e-mail address was rejected"],
    });
  });

  it("warns of an organisation with the same name, case-insensitively", async () => {
    const { email } = await rig.submitAndWait({
      ...newAccountRequest(),
      organization_name: agent.name.toUpperCase(),
    });
    expect((await rig.findRequests(email))[0]?.warnings).toEqual([
      `An organisation named "${agent.name}" already exists`,
    ]);
  });

  it("lists requests page by page, newest first, and counts by status", async () => {
    const { id } = await rig.submitAndWait();
    const older = await rig.submitAndWait();
    await rig.decide("rejectAccountRequest", { id, reason: "No." });
    const page = `{ edges { cursor } nodes { id } pageInfo { hasNextPage endCursor } totalCount }`;
    const first = await rig.operator.queryData(`{ accountRequests(first: 1) ${page} }`);
    expect(first.accountRequests.nodes).toEqual([{ id: older.id }]);
    const { endCursor } = first.accountRequests.pageInfo;
    const second = await rig.operator.queryData(
      `query ($after: String) { accountRequests(first: 1, after: $after) ${page} }`,
      {
        after: endCursor,
      },
    );
    expect(second.accountRequests.nodes).toEqual([{ id }]);
    const rejected = await rig.operator.queryData(
      `{ accountRequests(first: 100, status: [REJECTED]) { nodes { status } totalCount } }`,
    );
    expect(rejected.accountRequests.totalCount).toBe(rejected.accountRequests.nodes.length);
    expect(new Set(rejected.accountRequests.nodes.map((node: { status: string }) => node.status))).toEqual(
      new Set(["REJECTED"]),
    );
    const { node } = await rig.operator.queryData(`query ($id: ID!) { node(id: $id) { id } }`, { id });
    expect(node).toEqual({ id });
  });
});

describe("202, without revealing whether the e-mail address has an account", () => {
  it("responds the same for an e-mail address with an account, with an open request, and a new one", async () => {
    const person = await createTestUser(app, { organizationId: agent.id, role: "dispatcher" });
    const waiting = await rig.submitAndWait();
    const fresh = newAccountRequest();
    const answers = [
      await rig.submit({ ...newAccountRequest(), email: person.email }),
      await rig.submit({ ...newAccountRequest(), email: waiting.email }),
      await rig.submit(fresh),
    ];
    expect(new Set(answers.map((answer) => JSON.stringify(withoutRequestId(answer)))).size).toBe(1);
    expect((await waitForMail(app, person.email, "account_exists")).text).toContain(`${app.url}/sign-in`);
    // The background queue runs in order.
    await rig.submitAndWait();
    expect(await rig.findRequests(person.email)).toEqual([]);
    expect(await rig.findRequests(fresh.email)).toHaveLength(1);
    expect((await listMailsTo(app, waiting.email)).map(({ kind }) => kind)).toEqual([
      "account_request_received",
    ]);
    expect(await rig.findRequests(waiting.email)).toMatchObject([
      { organizationName: waiting.organization_name },
    ]);
  });

  it("responds before looking up the e-mail address", async () => {
    // The lock blocks every look-up.
    const answer = await app.database.transaction(async (tx) => {
      await tx.query(sql`lock table user_account in access exclusive mode`);
      return await rig.submit(newAccountRequest());
    });
    expect(answer.status).toBe(202);
  });

  it("mails a new registration link on a repeated request only after the previous link has expired", async () => {
    const { id, email, ...request } = await rig.submitAndWait();
    await rig.decide("approveAccountRequest", { id });
    const first = extractLinkToken(await waitForMail(app, email, "registration"), "register");
    await rig.submit({ ...request, email });
    await rig.submitAndWait();
    expectData(await follow("links/check", { token: first }));
    await app.database.query(
      sql`update email_token set expires_at = now() - interval '1 s' where email = ${email}`,
    );
    await rig.submit({ ...request, email });
    await rig.submitAndWait();
    const mails = (await listMailsTo(app, email)).filter(({ kind }) => kind === "registration");
    expect(mails).toHaveLength(2);
    expectData(await follow("links/check", { token: extractLinkToken(mails[1] as never, "register") }));
  });
});
