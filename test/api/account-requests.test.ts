/** Asking for an account, and its review: from the public form to the first sign-in, and everything that is refused. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sql } from "../../src/platform/sql.ts";
import { GOOD_PASSWORD, makePerson, openBrowser, signIn, type Browser } from "../support/account.ts";
import { ACCOUNT_ENV, mailOf, mailsTo, somewhere, tokenIn } from "../support/account-mails.ts";
import { expectData, expectFailure, expectProblems, withoutRequest } from "../support/answers.ts";
import { ask, graphql } from "../support/graphql.ts";
import type { Answer } from "../support/instance.ts";
import { startTestApp, type Partner, type TestApp } from "../support/start-app.ts";

let app: TestApp;
let agent: Partner;
/** An operator's. */
let browser: Browser;
let operatorEmail: string;
let partnerBrowser: Browser;
let operatorKey: string;

beforeAll(async () => {
  app = await startTestApp(ACCOUNT_ENV);
  agent = await app.partner("agent");
  const operator = await makePerson(app, { organizationId: null, role: "operator" });
  operatorEmail = operator.email;
  browser = await signIn(app, operator);
  partnerBrowser = await signIn(app, await makePerson(app, { organizationId: agent.id, role: "owner" }));
  const { text } = await app.keys.create({ organizationId: null, name: "operator", createdBy: "test" });
  operatorKey = text;
});
afterAll(() => app[Symbol.asyncDispose]());

interface Asked {
  email: string;
  organization_name: string;
  organization_type: string;
  message?: string | null;
}

function newRequest(): Asked {
  const name = randomBytes(6).toString("hex");
  return { email: `${name}@test.example`, organization_name: `Haulage ${name}`, organization_type: "agent" };
}

function submit(body: unknown, from = somewhere()): Promise<Answer> {
  const init = { method: "POST", headers: from, body: JSON.stringify(body) };
  return openBrowser(app).call("/auth/account-requests", init);
}

/** Asks, and waits until it has come. */
async function submitted(request = newRequest()): Promise<Asked & { id: string }> {
  expect((await submit(request)).status).toBe(202);
  await mailOf(app, request.email.toLowerCase(), "account_request_received");
  const found = await rowsOf(request.email);
  return { ...request, id: found[0]?.id as string };
}

async function rowsOf(
  email: string,
): Promise<{ id: string; status: string; organizationName: string; warnings: string[] }[]> {
  const { accountRequests } = await asOperator(
    `{ accountRequests(first: 100) { nodes { id status email organizationName warnings } } }`,
  );
  const nodes = accountRequests.nodes as {
    email: string;
    id: string;
    status: string;
    organizationName: string;
    warnings: string[];
  }[];
  return nodes.filter((node) => node.email === email);
}

function headers(from: Browser = browser): Record<string, string> {
  return { cookie: from.cookie, origin: app.url };
}

function asOperator(query: string, variables: Record<string, unknown> = {}) {
  return ask(app, query, { headers: headers(), variables });
}

const REQUEST = `accountRequest { id status decidedAt decidedBy registrationExpiresAt organization { id name type }
  notes { by kind text } } userErrors { code field message }`;

async function decide(field: string, args: Record<string, unknown>, asking = { headers: headers() }) {
  const types = {
    id: "ID!",
    organizationName: "String",
    reason: "String!",
    question: "String!",
    text: "String!",
  };
  const names = Object.keys(args) as (keyof typeof types)[];
  const head = names.map((name) => `$${name}: ${types[name]}`).join(", ");
  const inner = names.map((name) => `${name}: $${name}`).join(", ");
  const data = await ask(app, `mutation (${head}) { ${field}(${inner}) { ${REQUEST} } }`, {
    ...asking,
    variables: args,
  });
  return data[field];
}

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
    const request = await submitted({ ...newRequest(), message: "We deliver in the north.\r\nSince 1990." });
    const { id, email, organization_name: name } = request;

    const asked = await decide("askAccountRequest", { id, question: "How many vans?" });
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

    await decide("noteAccountRequest", { id, text: "Spoke to them." });
    const approved = await decide("approveAccountRequest", { id });
    expect(approved).toMatchObject({
      userErrors: [],
      accountRequest: {
        status: "APPROVED",
        decidedBy: operatorEmail,
        organization: { name, type: "AGENT" },
        notes: [
          { kind: "QUESTION", by: operatorEmail, text: "How many vans?" },
          { kind: "ANSWER", by: email, text: "Twelve." },
          { kind: "NOTE", by: operatorEmail, text: "Spoke to them." },
          { kind: "APPROVAL", by: operatorEmail },
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
    const [registered] = await rowsOf(email);
    expect(registered).toMatchObject({ id, status: "REGISTERED" });

    const actions = await asOperator(`{ auditLog(first: 20) { nodes { action subject actor } } }`);
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
    const { email } = await submitted({ ...newRequest(), organization_name: name, message: "Call 555 0100" });
    const { subject, text } = await mailOf(app, email, "account_request_received");
    expect(`${subject} ${text}`).not.toMatch(/prizes|555/);
  });

  it("keeps the message's paragraphs, and the address in small letters", async () => {
    const request = newRequest();
    const given = { ...request, email: ` ${request.email.toUpperCase()} `, message: " one\r\n\r\ntwo " };
    await submit(given);
    await mailOf(app, request.email, "account_request_received");
    const [row] = await app.database.query(
      sql`select message, email from account_request where email = ${request.email}`,
    );
    expect(row).toEqual({ message: "one\n\ntwo", email: request.email });
  });

  it("rejects, and tells the person why", async () => {
    const { id, email } = await submitted();
    const rejected = await decide("rejectAccountRequest", { id, reason: "We do not deliver there <yet>." });
    expect(rejected).toMatchObject({
      userErrors: [],
      accountRequest: { status: "REJECTED", organization: null },
    });
    expect((await mailOf(app, email, "account_request_rejected")).text).toContain(
      "We do not deliver there <yet>.",
    );
  });

  it("ends the question's link with the decision", async () => {
    const { id, email } = await submitted();
    await decide("askAccountRequest", { id, question: "Who are you?" });
    const token = tokenIn(await mailOf(app, email, "account_request_question"), "account-request");
    await decide("rejectAccountRequest", { id, reason: "No." });
    expectFailure(await follow("account-requests/answer", { token, message: "We are" }), 404);
    expect((await rowsOf(email))[0]).toMatchObject({ status: "REJECTED" });
  });

  it("ends the former question's link with a new question", async () => {
    const { id, email } = await submitted();
    await decide("askAccountRequest", { id, question: "First?" });
    const first = tokenIn(await mailOf(app, email, "account_request_question"), "account-request");
    await decide("askAccountRequest", { id, question: "Second?" });
    expectFailure(await follow("links/check", { token: first }), 404);
  });

  it("approves under another name, by an operator's key", async () => {
    const { id } = await submitted();
    const organizationName = `Other ${randomBytes(4).toString("hex")}`;
    const approved = await decide(
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
    const { id, ...request } = await submitted();
    await decide("rejectAccountRequest", { id, reason: "Not yet." });
    await submit(request);
    await submitted();
    const [again] = await rowsOf(request.email);
    expect(again).toMatchObject({
      status: "PENDING",
      warnings: ["A request of this e-mail address was rejected before"],
    });
  });

  it("warns of an organisation of the same name, whatever its case", async () => {
    const { email } = await submitted({ ...newRequest(), organization_name: agent.name.toUpperCase() });
    expect((await rowsOf(email))[0]?.warnings).toEqual([
      `There is an organisation named "${agent.name}" already`,
    ]);
  });

  it("pages through the requests, newest first, and counts those of a status", async () => {
    const { id } = await submitted();
    const older = await submitted();
    await decide("rejectAccountRequest", { id, reason: "No." });
    const page = `{ edges { cursor } nodes { id } pageInfo { hasNextPage endCursor } totalCount }`;
    const first = await asOperator(`{ accountRequests(first: 1) ${page} }`);
    expect(first.accountRequests.nodes).toEqual([{ id: older.id }]);
    const { endCursor } = first.accountRequests.pageInfo;
    const second = await asOperator(
      `query ($after: String) { accountRequests(first: 1, after: $after) ${page} }`,
      {
        after: endCursor,
      },
    );
    expect(second.accountRequests.nodes).toEqual([{ id }]);
    const rejected = await asOperator(
      `{ accountRequests(first: 100, status: [REJECTED]) { nodes { status } totalCount } }`,
    );
    expect(rejected.accountRequests.totalCount).toBe(rejected.accountRequests.nodes.length);
    expect(new Set(rejected.accountRequests.nodes.map((node: { status: string }) => node.status))).toEqual(
      new Set(["REJECTED"]),
    );
    const { node } = await asOperator(`query ($id: ID!) { node(id: $id) { id } }`, { id });
    expect(node).toEqual({ id });
  });
});

describe("202: nothing tells whether an address is known", () => {
  it("answers the same for an address with an account, a waiting one and a new one", async () => {
    const person = await makePerson(app, { organizationId: agent.id, role: "member" });
    const waiting = await submitted();
    const before = await requestCount();
    const answers = [
      await submit({ ...newRequest(), email: person.email }),
      await submit({ ...newRequest(), email: waiting.email }),
      await submit(newRequest()),
    ];
    expect(new Set(answers.map((answer) => JSON.stringify(withoutRequest(answer)))).size).toBe(1);
    expect((await mailOf(app, person.email, "account_exists")).text).toContain(`${app.url}/sign-in`);
    // What is done afterwards is done in order.
    await submitted();
    expect(await requestCount()).toBe(before + 2);
    expect((await mailsTo(app, waiting.email)).map(({ kind }) => kind)).toEqual(["account_request_received"]);
    expect(await rowsOf(waiting.email)).toMatchObject([{ organizationName: waiting.organization_name }]);
  });

  it("answers before it looks whether the address is known", async () => {
    // Whoever holds the table of people keeps everybody from looking.
    const answer = await app.database.transaction(async (tx) => {
      await tx.query(sql`lock table user_account in access exclusive mode`);
      return await submit(newRequest());
    });
    expect(answer.status).toBe(202);
  });

  it("sends a new link to whoever asks again once the registration's has ended, and none before", async () => {
    const { id, email, ...request } = await submitted();
    await decide("approveAccountRequest", { id });
    const first = tokenIn(await mailOf(app, email, "registration"), "register");
    await submit({ ...request, email });
    await submitted();
    expectData(await follow("links/check", { token: first }));
    await app.database.query(
      sql`update account_link set expires_at = now() - interval '1 s' where email = ${email}`,
    );
    await submit({ ...request, email });
    await submitted();
    const mails = (await mailsTo(app, email)).filter(({ kind }) => kind === "registration");
    expect(mails).toHaveLength(2);
    expectData(await follow("links/check", { token: tokenIn(mails[1] as never, "register") }));
  });
});

describe("400", () => {
  it("names everything that is wrong", async () => {
    expectProblems(
      await submit({ email: "nobody", organization_name: "", organization_type: "shop" }),
      "body",
      ["email", "organization_name", "organization_type"],
    );
    expectProblems(await submit({}), "body", ["email", "organization_name", "organization_type"]);
  });

  it.each([
    ["a list of addresses", { email: "a@test.example,b@test.example" }],
    ["a header in the address", { email: "a@test.example\r\nBcc: b@test.example" }],
    ["an address with a name", { email: "A <a@test.example>" }],
    ["a name that is too long", { organization_name: "x".repeat(121) }],
    ["a name of two lines", { organization_name: "a\nb" }],
    ["a name that turns the order of reading around", { organization_name: "a\u202Eb" }],
    ["a name with U+0000", { organization_name: "a\0b" }],
    ["a lone surrogate", { organization_name: "a\uD800" }],
    ["a message that is too long", { message: "x".repeat(2_001) }],
    ["a message with U+0000", { message: "a\0b" }],
    ["a message that is no text", { message: ["hello"] }],
  ])("refuses %s", async (_what, change) => {
    expectProblems(await submit({ ...newRequest(), ...change }), "body", Object.keys(change));
  });

  it("refuses words that cannot be sent", async () => {
    const { id } = await submitted();
    for (const [field, name] of [
      ["rejectAccountRequest", "reason"],
      ["askAccountRequest", "question"],
      ["noteAccountRequest", "text"],
    ] as const)
      expect(await decide(field, { id, [name]: "  " })).toMatchObject({
        accountRequest: null,
        userErrors: [{ code: "INVALID", field: name }],
      });
    expect(await decide("approveAccountRequest", { id, organizationName: "a\nb" })).toMatchObject({
      accountRequest: null,
      userErrors: [{ code: "INVALID", field: "organizationName" }],
    });
  });
});

describe("403", () => {
  it("refuses a form of another site", async () => {
    const init = {
      method: "POST",
      body: JSON.stringify(newRequest()),
      headers: { origin: "https://evil.example" },
    };
    expectFailure(await app.call("/auth/account-requests", init), 403);
  });

  it.each([
    ["an owner", () => headers(partnerBrowser)],
    ["a partner's key", () => ({ "x-api-key": agent.key })],
  ])("shows and does nothing to %s", async (_who, asking) => {
    const { id } = await submitted();
    const listed = await graphql(
      app,
      `
        {
          accountRequests {
            nodes {
              id
            }
          }
        }
      `,
      { headers: asking() },
    );
    expect(listed.errors?.[0]?.extensions.code).toBe("FORBIDDEN");
    const approved = await graphql(
      app,
      `
        mutation ($id: ID!) {
          approveAccountRequest(id: $id) {
            userErrors {
              code
            }
          }
        }
      `,
      {
        headers: asking(),
        variables: { id },
      },
    );
    expect(approved.errors?.[0]?.extensions.code).toBe("FORBIDDEN");
    const found = await ask(app, `query ($id: ID!) { node(id: $id) { id } }`, {
      headers: asking(),
      variables: { id },
    });
    expect(found.node).toBeNull();
  });
});

describe("404", () => {
  it("knows no request of another id", async () => {
    for (const id of ["arq_00000000000000000000000000", "nothing", "org_00000000000000000000000000"])
      expect(await decide("approveAccountRequest", { id })).toMatchObject({
        accountRequest: null,
        userErrors: [{ code: "NOT_FOUND", field: "id" }],
      });
  });
});

describe("409", () => {
  it("keeps two organisations from one name", async () => {
    const { id } = await submitted({ ...newRequest(), organization_name: agent.name });
    expect(await decide("approveAccountRequest", { id })).toMatchObject({
      accountRequest: null,
      userErrors: [{ code: "CONFLICT", field: "organizationName" }],
    });
    const approved = await decide("approveAccountRequest", { id, organizationName: `${agent.name} North` });
    expect(approved).toMatchObject({ userErrors: [], accountRequest: { status: "APPROVED" } });
  });

  it("decides once", async () => {
    const { id } = await submitted();
    await decide("rejectAccountRequest", { id, reason: "No." });
    for (const [field, args] of [
      ["approveAccountRequest", { id }],
      ["rejectAccountRequest", { id, reason: "No." }],
      ["askAccountRequest", { id, question: "Why?" }],
      ["resendRegistration", { id }],
    ] as const)
      expect(await decide(field, args)).toMatchObject({
        accountRequest: null,
        userErrors: [
          { code: "CONFLICT", field: "id", message: expect.stringContaining(operatorEmail) as string },
        ],
      });
  });

  it("approves nobody who has an account by now", async () => {
    const { id, email } = await submitted();
    const person = {
      email,
      name: "P",
      password: GOOD_PASSWORD,
      organizationId: agent.id,
      role: "member",
    } as const;
    await app.database.transaction((tx) => app.accounts.createUser(tx, person));
    expect((await rowsOf(email))[0]?.warnings).toEqual(["An account has this e-mail address already"]);
    expect(await decide("approveAccountRequest", { id })).toMatchObject({
      userErrors: [{ code: "CONFLICT" }],
    });
  });

  it("of two approvals at once makes one organisation and one mail", async () => {
    const { id, email, organization_name: name } = await submitted();
    // By several names, since one name alone would be taken once.
    const names = [1, 2, 3, 4].map((at) => `${name} ${at}`);
    const results = await Promise.all(
      names.map((organizationName) => decide("approveAccountRequest", { id, organizationName })),
    );
    expect(results.filter(({ userErrors }) => userErrors.length === 0)).toHaveLength(1);
    const made = await app.database.query(sql`select from organization where name = any(${names})`);
    expect(made).toHaveLength(1);
    expect((await mailsTo(app, email)).filter(({ kind }) => kind === "registration")).toHaveLength(1);
    const acts = await app.database.query(
      sql`select from audit_entry where action = 'account_request.approved' and subject = ${id}`,
    );
    expect(acts).toHaveLength(1);
  });
});

describe("405, 413, 415", () => {
  it("takes a JSON form of bounded size by POST alone", async () => {
    expectFailure(await app.call("/auth/account-requests"), 405);
    const large = await submit({ ...newRequest(), message: "x".repeat(20_000) });
    expectFailure(large, 413);
    const init = {
      method: "POST",
      body: "email=a",
      headers: { origin: app.url, "content-type": "text/plain" },
    };
    expectFailure(await app.call("/auth/account-requests", init), 415);
  });
});

describe("429", () => {
  it("takes so many requests of one address and then says when to come back", async () => {
    const from = somewhere();
    const statuses: number[] = [];
    for (let sent = 0; sent < 21; sent += 1) statuses.push((await submit(newRequest(), from)).status);
    expect(statuses.slice(0, 20)).toEqual(Array.from({ length: 20 }, () => 202));
    const refused = await submit(newRequest(), from);
    expectFailure(refused, 429);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await submit(newRequest())).status).toBe(202);
  });

  it("sends at most three mails in a row to one address, whoever asks", async () => {
    const person = await makePerson(app, { organizationId: agent.id, role: "member" });
    for (let sent = 0; sent < 6; sent += 1)
      expect((await submit({ ...newRequest(), email: person.email })).status).toBe(202);
    await submitted();
    expect(await mailsTo(app, person.email)).toHaveLength(3);
  });
});
