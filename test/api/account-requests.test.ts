/** Account requests and their review, from the public form to the first sign-in. */
import { describe, expect, it } from "vitest";
import { sql } from "../../src/core/postgres/sql.ts";
import { newAccountRequest, openAccountRequestFixture } from "../support/accounts/account-request.fixture.ts";
import * as accounts from "../support/accounts/accounts.fixture.ts";
import { extractLinkToken } from "../support/accounts/mails.ts";

const { VALID_PASSWORD, expectData, expectFailure, listMailsTo, waitForMail, withoutRequestId } = accounts;
const { app, agent, newUser, signIn, post } = await accounts.openAccounts();
const { operator, ...rig } = await openAccountRequestFixture();

const check = (token: string) => post("/auth/links/check", { token });
const answer = (token: string, message: string) => post("/auth/account-requests/answer", { token, message });
const mailKinds = async (email: string) => (await listMailsTo(app, email)).map(({ kind }) => kind);

/** Returns the token of the mail's link. */
async function ask(id: string, email: string, question: string): Promise<string> {
  const asked = await rig.decide("askAccountRequestQuestion", { id, question });
  expect(asked).toMatchObject({ userErrors: [], accountRequest: { status: "AWAITING_REPLY" } });
  const mail = await waitForMail(app, email, "account_request_question");
  expect(mail.text).toContain(question);
  return extractLinkToken(mail, "account-request");
}

describe("200", () => {
  it("takes a request through a question, its answer and the approval to the first sign-in", async () => {
    const { id, email, organization_name: name } = await rig.submitAndWait();
    const answerToken = await ask(id, email, "How many vans?");
    const link = { email, organization_name: name, question: "How many vans?" };
    expect(expectData(await check(answerToken))).toMatchObject({ kind: "account_request_answer", ...link });
    expectData(await answer(answerToken, "Twelve."));
    expectFailure(await answer(answerToken, "More."), 404);

    await rig.decide("addAccountRequestNote", { id, text: "Spoke to them." });
    const approved = await rig.decide("approveAccountRequest", { id });
    expect(approved).toMatchObject({
      userErrors: [],
      accountRequest: {
        status: "APPROVED",
        decidedBy: operator.email,
        organization: { name, type: "AGENT" },
        notes: [
          { kind: "QUESTION", by: operator.email, text: "How many vans?" },
          { kind: "ANSWER", by: email, text: "Twelve." },
          { kind: "NOTE", by: operator.email, text: "Spoke to them." },
          { kind: "APPROVAL", by: operator.email },
        ],
      },
    });
    const expiresMs = Date.parse(approved.accountRequest.registrationExpiresAt);
    expect(expiresMs).toBeGreaterThan(Date.now() + 71 * 3_600_000);

    const credentials = { email, password: VALID_PASSWORD };
    const accepted = {
      token: await rig.registrationToken(email),
      name: "First Owner",
      password: VALID_PASSWORD,
    };
    expectData(await post("/auth/links/accept", accepted));
    const browser = await signIn(credentials);
    expect(expectData(await browser.get("/auth/session"))).toMatchObject({
      user: { email, name: "First Owner", role: "owner" },
      organization: { name, type: "agent" },
    });
    expect(await rig.findRequests(email)).toMatchObject([{ id, status: "REGISTERED" }]);

    const { auditLog } = await operator.queryData(`{ auditLog(first: 100) { nodes { action subject } } }`);
    const nodes: { action: string; subject: string }[] = auditLog.nodes;
    const acts = ["approved", "noted", "answered", "asked", "received"];
    expect(nodes.filter(({ subject }) => subject === id).map(({ action }) => action)).toEqual(
      acts.map((act) => `account_request.${act}`),
    );
  });

  it("mails no text from the form to an unverified e-mail address", async () => {
    const organizationName = "Free prizes at http://prizes.example";
    const texts = { organization_name: organizationName, message: "Call 555 0100" };
    const { email } = await rig.submitAndWait({ ...newAccountRequest(), ...texts });
    const { subject, text } = await waitForMail(app, email, "account_request_received");
    expect(`${subject} ${text}`).not.toMatch(/prizes|555/);
  });

  it("keeps the paragraphs of the message and lower-cases the e-mail address", async () => {
    const { email, ...request } = newAccountRequest();
    await rig.submit({ ...request, email: ` ${email.toUpperCase()} `, message: " one\r\n\r\ntwo " });
    await waitForMail(app, email, "account_request_received");
    const stored = await app.database.query(sql`select message from account_request where email = ${email}`);
    expect(stored).toEqual([{ message: "one\n\ntwo" }]);
  });

  it("rejects a request and mails the reason, which invalidates the question's link", async () => {
    const { id, email } = await rig.submitAndWait();
    const token = await ask(id, email, "Who are you?");
    const reason = "We do not deliver there <yet>.";
    const rejected = { userErrors: [], accountRequest: { status: "REJECTED", organization: null } };
    expect(await rig.decide("rejectAccountRequest", { id, reason })).toMatchObject(rejected);
    expect((await waitForMail(app, email, "account_request_rejected")).text).toContain(reason);
    expectFailure(await answer(token, "We are"), 404);
    expect(await rig.findRequests(email)).toMatchObject([{ status: "REJECTED" }]);
  });

  it("warns the operators of an earlier rejection, and of an organisation with the same name", async () => {
    const { id, ...request } = await rig.submitAndWait();
    await rig.decide("rejectAccountRequest", { id, reason: "Not yet." });
    await rig.submit({ ...request, organization_name: agent.name.toUpperCase() });
    await rig.submitAndWait();
    const [again] = await rig.findRequests(request.email);
    expect(again?.status).toBe("PENDING");
    expect(again?.warnings.toSorted()).toEqual([
      "An earlier request from this e-mail address was rejected",
      `An organisation named "${agent.name}" already exists`,
    ]);
  });

  it("lists requests newest first, and counts by status", async () => {
    const { id } = await rig.submitAndWait();
    const newest = await rig.submitAndWait();
    await rig.decide("rejectAccountRequest", { id: newest.id, reason: "No." });
    const listed = await operator.queryData("{ accountRequests(first: 2) { nodes { id } } }");
    expect(listed.accountRequests.nodes).toEqual([{ id: newest.id }, { id }]);
    const { accountRequests } = await operator.queryData(
      `{ accountRequests(first: 100, status: [REJECTED]) { nodes { status } totalCount } }`,
    );
    const statuses = accountRequests.nodes.map(({ status }: { status: string }) => status);
    expect(accountRequests.totalCount).toBe(statuses.length);
    expect(new Set(statuses)).toEqual(new Set(["REJECTED"]));
  });
});

describe("202, without revealing whether the e-mail address has an account", () => {
  it("responds the same for an e-mail address with an account, with an open request, and a new one", async () => {
    const [user, waiting, fresh] = [await newUser(), await rig.submitAndWait(), newAccountRequest()];
    const answers = [
      await rig.submit({ ...newAccountRequest(), email: user.email }),
      await rig.submit({ ...newAccountRequest(), email: waiting.email }),
      await rig.submit(fresh),
    ];
    expect(new Set(answers.map((one) => JSON.stringify(withoutRequestId(one)))).size).toBe(1);
    expect((await waitForMail(app, user.email, "account_exists")).text).toContain(`${app.url}/sign-in`);
    // The background queue runs in order.
    await rig.submitAndWait();
    expect(await rig.findRequests(user.email)).toEqual([]);
    expect(await rig.findRequests(fresh.email)).toHaveLength(1);
    expect(await mailKinds(waiting.email)).toEqual(["account_request_received"]);
    const { organization_name: organizationName } = waiting;
    expect(await rig.findRequests(waiting.email)).toMatchObject([{ organizationName }]);
  });

  it("responds before looking up the e-mail address", async () => {
    // The lock blocks every look-up.
    const { status } = await app.database.transaction(async (tx) => {
      await tx.query(sql`lock table user_account in access exclusive mode`);
      return await rig.submit(newAccountRequest());
    });
    expect(status).toBe(202);
  });

  it("mails a new registration link on a repeated request only after the previous link has expired", async () => {
    const { id, ...request } = await rig.submitAndWait();
    const { email } = request;
    const repeat = async () => {
      await rig.submit(request);
      await rig.submitAndWait();
      return (await mailKinds(email)).filter((kind) => kind === "registration").length;
    };
    await rig.decide("approveAccountRequest", { id });
    const first = await rig.registrationToken(email);
    expect(await repeat()).toBe(1);
    expectData(await check(first));
    await app.database.query(
      sql`update email_token set expires_at = now() - interval '1 s' where email = ${email}`,
    );
    expect(await repeat()).toBe(2);
    expectData(await check(await rig.registrationToken(email)));
  });
});
