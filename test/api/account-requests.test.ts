/** Asking for an account, and its review: from the public form to the first sign-in. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sql } from "../../src/platform/sql.ts";
import { GOOD_PASSWORD, makePerson, openBrowser, signIn } from "../support/account.ts";
import { mailOf, mailsTo, somewhere, tokenIn } from "../support/account-mails.ts";
import { newRequest, openAccountRequestRig, type AccountRequestRig } from "../support/account-request-rig.ts";
import { expectData, expectFailure, withoutRequest } from "../support/answers.ts";
import type { Answer } from "../support/instance.ts";
import type { Partner, TestApp } from "../support/start-app.ts";

let rig: AccountRequestRig;
let app: TestApp;
let agent: Partner;
let operatorKey: string;

beforeAll(async () => {
  rig = await openAccountRequestRig();
  ({ app, agent } = rig);
  const { text } = await app.keys.create({ organizationId: null, name: "operator", createdBy: "test" });
  operatorKey = text;
});
afterAll(() => rig[Symbol.asyncDispose]());

function follow(path: string, body: object): Promise<Answer> {
  const init = { method: "POST", headers: somewhere(), body: JSON.stringify(body) };
  return openBrowser(app).call(`/auth/${path}`, init);
}

async function requestCount(): Promise<number> {
  const [row] = await app.database.query<{ count: number }>(
    sql`select count(*)::int as count from account_request`,
  );
  return row?.count ?? 0;
}

describe("200", () => {
  it("leads from a request over a question, its answer and the approval to the first sign-in", async () => {
    const request = await rig.submitted({
      ...newRequest(),
      message: "We deliver in the north.\r\nSince 1990.",
    });
    const { id, email, organization_name: name } = request;

    const asked = await rig.decide("askAccountRequest", { id, question: "How many vans?" });
    expect(asked).toMatchObject({ userErrors: [], accountRequest: { status: "ASKED" } });
    const question = await mailOf(app, email, "account_request_question");
    expect(question.text).toContain("How many vans?");
    const answerToken = tokenIn(question, "account-request");
    expect(expectData(await follow("links/check", { token: answerToken }))).toMatchObject({
      kind: "account_request_answer",
      email,
      organization_name: name,
      question: "How many vans?",
    });
    expectData(await follow("account-requests/answer", { token: answerToken, message: "Twelve." }));
    expectFailure(await follow("account-requests/answer", { token: answerToken, message: "More." }), 404);

    await rig.decide("noteAccountRequest", { id, text: "Spoke to them." });
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

    const token = tokenIn(await mailOf(app, email, "registration"), "register");
    expect(expectData(await follow("links/check", { token }))).toMatchObject({
      kind: "registration",
      email,
      organization_name: name,
      question: null,
    });
    expectData(await follow("links/accept", { token, name: "First Owner", password: GOOD_PASSWORD }));

    const owner = await signIn(app, { email, password: GOOD_PASSWORD });
    expect(expectData(await owner.get("/auth/session"))).toMatchObject({
      user: { email, name: "First Owner", role: "owner" },
      organization: { name, type: "agent" },
    });
    const [registered] = await rig.rowsOf(email);
    expect(registered).toMatchObject({ id, status: "REGISTERED" });

    const actions = await rig.operator.ask(`{ auditLog(first: 20) { nodes { action subject actor } } }`);
    const about = actions.auditLog.nodes.filter((node: { subject: string }) => node.subject === id);
    expect(about.map((node: { action: string }) => node.action)).toEqual([
      "account_request.approved",
      "account_request.noted",
      "account_request.answered",
      "account_request.asked",
      "account_request.received",
    ]);
  });

  it("repeats nothing that was typed to an address that nobody has proven to be theirs", async () => {
    const name = "Free prizes at http://prizes.example";
    const { email } = await rig.submitted({
      ...newRequest(),
      organization_name: name,
      message: "Call 555 0100",
    });
    const { subject, text } = await mailOf(app, email, "account_request_received");
    expect(`${subject} ${text}`).not.toMatch(/prizes|555/);
  });

  it("keeps the message's paragraphs, and the address in small letters", async () => {
    const request = newRequest();
    const given = { ...request, email: ` ${request.email.toUpperCase()} `, message: " one\r\n\r\ntwo " };
    await rig.submit(given);
    await mailOf(app, request.email, "account_request_received");
    const [row] = await app.database.query(
      sql`select message, email from account_request where email = ${request.email}`,
    );
    expect(row).toEqual({ message: "one\n\ntwo", email: request.email });
  });

  it("rejects, and tells the person why", async () => {
    const { id, email } = await rig.submitted();
    const rejected = await rig.decide("rejectAccountRequest", {
      id,
      reason: "We do not deliver there <yet>.",
    });
    expect(rejected).toMatchObject({
      userErrors: [],
      accountRequest: { status: "REJECTED", organization: null },
    });
    expect((await mailOf(app, email, "account_request_rejected")).text).toContain(
      "We do not deliver there <yet>.",
    );
  });

  it("ends the question's link with the decision", async () => {
    const { id, email } = await rig.submitted();
    await rig.decide("askAccountRequest", { id, question: "Who are you?" });
    const token = tokenIn(await mailOf(app, email, "account_request_question"), "account-request");
    await rig.decide("rejectAccountRequest", { id, reason: "No." });
    expectFailure(await follow("account-requests/answer", { token, message: "We are" }), 404);
    expect((await rig.rowsOf(email))[0]).toMatchObject({ status: "REJECTED" });
  });

  it("ends the former question's link with a new question", async () => {
    const { id, email } = await rig.submitted();
    await rig.decide("askAccountRequest", { id, question: "First?" });
    const first = tokenIn(await mailOf(app, email, "account_request_question"), "account-request");
    await rig.decide("askAccountRequest", { id, question: "Second?" });
    expectFailure(await follow("links/check", { token: first }), 404);
  });

  it("approves under another name, by an operator's key", async () => {
    const { id } = await rig.submitted();
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

  it("takes a further request after a rejection, with a warning to the operators", async () => {
    const { id, ...request } = await rig.submitted();
    await rig.decide("rejectAccountRequest", { id, reason: "Not yet." });
    await rig.submit(request);
    await rig.submitted();
    const [again] = await rig.rowsOf(request.email);
    expect(again).toMatchObject({
      status: "PENDING",
      warnings: ["A request of this e-mail address was rejected before"],
    });
  });

  it("warns of an organisation of the same name, whatever its case", async () => {
    const { email } = await rig.submitted({ ...newRequest(), organization_name: agent.name.toUpperCase() });
    expect((await rig.rowsOf(email))[0]?.warnings).toEqual([
      `There is an organisation named "${agent.name}" already`,
    ]);
  });

  it("pages through the requests, newest first, and counts those of a status", async () => {
    const { id } = await rig.submitted();
    const older = await rig.submitted();
    await rig.decide("rejectAccountRequest", { id, reason: "No." });
    const page = `{ edges { cursor } nodes { id } pageInfo { hasNextPage endCursor } totalCount }`;
    const first = await rig.operator.ask(`{ accountRequests(first: 1) ${page} }`);
    expect(first.accountRequests.nodes).toEqual([{ id: older.id }]);
    const { endCursor } = first.accountRequests.pageInfo;
    const second = await rig.operator.ask(
      `query ($after: String) { accountRequests(first: 1, after: $after) ${page} }`,
      {
        after: endCursor,
      },
    );
    expect(second.accountRequests.nodes).toEqual([{ id }]);
    const rejected = await rig.operator.ask(
      `{ accountRequests(first: 100, status: [REJECTED]) { nodes { status } totalCount } }`,
    );
    expect(rejected.accountRequests.totalCount).toBe(rejected.accountRequests.nodes.length);
    expect(new Set(rejected.accountRequests.nodes.map((node: { status: string }) => node.status))).toEqual(
      new Set(["REJECTED"]),
    );
    const { node } = await rig.operator.ask(`query ($id: ID!) { node(id: $id) { id } }`, { id });
    expect(node).toEqual({ id });
  });
});

describe("202: nothing tells whether an address is known", () => {
  it("answers the same for an address with an account, a waiting one and a new one", async () => {
    const person = await makePerson(app, { organizationId: agent.id, role: "member" });
    const waiting = await rig.submitted();
    const before = await requestCount();
    const answers = [
      await rig.submit({ ...newRequest(), email: person.email }),
      await rig.submit({ ...newRequest(), email: waiting.email }),
      await rig.submit(newRequest()),
    ];
    expect(new Set(answers.map((answer) => JSON.stringify(withoutRequest(answer)))).size).toBe(1);
    expect((await mailOf(app, person.email, "account_exists")).text).toContain(`${app.url}/sign-in`);
    // What is done afterwards is done in order.
    await rig.submitted();
    expect(await requestCount()).toBe(before + 2);
    expect((await mailsTo(app, waiting.email)).map(({ kind }) => kind)).toEqual(["account_request_received"]);
    expect(await rig.rowsOf(waiting.email)).toMatchObject([{ organizationName: waiting.organization_name }]);
  });

  it("answers before it looks whether the address is known", async () => {
    // Whoever holds the table of people keeps everybody from looking.
    const answer = await app.database.transaction(async (tx) => {
      await tx.query(sql`lock table user_account in access exclusive mode`);
      return await rig.submit(newRequest());
    });
    expect(answer.status).toBe(202);
  });

  it("sends a new link to whoever asks again once the registration's has ended, and none before", async () => {
    const { id, email, ...request } = await rig.submitted();
    await rig.decide("approveAccountRequest", { id });
    const first = tokenIn(await mailOf(app, email, "registration"), "register");
    await rig.submit({ ...request, email });
    await rig.submitted();
    expectData(await follow("links/check", { token: first }));
    await app.database.query(
      sql`update account_link set expires_at = now() - interval '1 s' where email = ${email}`,
    );
    await rig.submit({ ...request, email });
    await rig.submitted();
    const mails = (await mailsTo(app, email)).filter(({ kind }) => kind === "registration");
    expect(mails).toHaveLength(2);
    expectData(await follow("links/check", { token: tokenIn(mails[1] as never, "register") }));
  });
});
