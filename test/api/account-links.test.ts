/** E-mailed links: single use, expiry and purpose, and one response for every invalid link. */
import { randomBytes } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { EmailTokenService } from "../../src/accounts/email-token.service.ts";
import type { EmailTokenKind } from "../../src/accounts/email-token.entity.ts";
import { fromTypedId, newUuid } from "../../src/core/ids.ts";
import { raw, sql } from "../../src/core/postgres/sql.ts";
import {
  VALID_PASSWORD,
  createTestUser,
  createSessionClient,
  signIn,
  type SessionClient,
} from "../support/accounts/session-client.ts";
import { waitForMail, randomClientIpHeader, extractLinkToken } from "../support/accounts/mails.ts";
import {
  newAccountRequest,
  openAccountRequestFixture,
  type AccountRequestFixture,
} from "../support/accounts/account-request.fixture.ts";
import { expectData, expectFailure, expectProblems, withoutRequestId } from "../support/app/assertions.ts";
import { createFakeClock, HOUR_MS } from "../support/fake-clock.ts";
import { queryData } from "../support/graphql/client.ts";
import type { ApiResponse } from "../support/app/app-instance.ts";
import type { TestOrganization } from "../support/app/app.fixture.ts";
import type { SharedApp } from "../support/app/shared-app.ts";

let rig: AccountRequestFixture;
let app: SharedApp;
let agent: TestOrganization;
/** An owner's. */
let browser: SessionClient;

beforeAll(async () => {
  rig = await openAccountRequestFixture();
  ({ app, agent } = rig);
  browser = await signIn(app, await createTestUser(app, { organizationId: agent.id, role: "owner" }));
});

function asOwner(query: string, variables: Record<string, unknown> = {}) {
  return queryData(app, query, { headers: { cookie: browser.cookie, origin: app.url }, variables });
}

function post(path: string, body: unknown, headers = {}): Promise<ApiResponse> {
  const init = { method: "POST", headers, body: JSON.stringify(body) };
  return createSessionClient(app).call(`/auth/links/${path}`, init);
}

const accept = (token: string, change: object = {}): Promise<ApiResponse> =>
  post("accept", { token, name: "New Person", password: VALID_PASSWORD, ...change });

interface Sent {
  id: string;
  email: string;
  token: string;
}

/** An approved request and its link. */
async function registration(): Promise<Sent & { name: string }> {
  const request = { ...newAccountRequest(), organization_type: "contractor" };
  const { id, email, organization_name: name } = await rig.submitAndWait(request);
  await rig.decide("approveAccountRequest", { id });
  return {
    id,
    email,
    name,
    token: extractLinkToken(await waitForMail(app, email, "registration"), "register"),
  };
}

async function invitation(): Promise<Sent> {
  const email = `${randomBytes(6).toString("hex")}@test.example`;
  const data = await asOwner(
    `mutation ($email: String!) { inviteMember(input: { email: $email }) { invitation { id } userErrors { code } } }`,
    { email },
  );
  const token = extractLinkToken(await waitForMail(app, email, "invitation"), "invitation");
  return { id: data.inviteMember.invitation.id, email, token };
}

async function issued(kind: EmailTokenKind, email: string): Promise<string> {
  const links = new EmailTokenService({ database: app.database, clock: createFakeClock() });
  return (await links.issue(app.database, { kind, subjectId: newUuid(), email })).token;
}

async function usersOf(email: string): Promise<number> {
  return (await app.database.query(sql`select from user_account where email = ${email}`)).length;
}

describe("200", () => {
  it("describes a registration link any number of times, and creates the contractor's owner", async () => {
    const earliestMs = Date.now();
    const { email, name, token } = await registration();
    const latestMs = Date.now();
    for (let asked = 0; asked < 3; asked += 1)
      expect(expectData(await post("check", { token }))).toEqual({
        kind: "registration",
        email,
        organization_name: name,
        question: null,
        expires_at: expect.any(String),
      });
    const expiresMs = Date.parse(expectData(await post("check", { token })).expires_at);
    expect(expiresMs).toBeGreaterThanOrEqual(earliestMs + 72 * HOUR_MS);
    expect(expiresMs).toBeLessThanOrEqual(latestMs + 72 * HOUR_MS);
    expect(expectData(await accept(token))).toEqual({});
    const session = expectData(
      await (await signIn(app, { email, password: VALID_PASSWORD })).get("/auth/session"),
    );
    expect(session).toMatchObject({ user: { role: "owner" }, organization: { type: "contractor" } });
  });

  it("creates a member from an invitation", async () => {
    const { email, token } = await invitation();
    expect(expectData(await post("check", { token }))).toMatchObject({
      kind: "invitation",
      email,
      organization_name: agent.name,
    });
    expectData(await accept(token));
    const session = expectData(
      await (await signIn(app, { email, password: VALID_PASSWORD })).get("/auth/session"),
    );
    expect(session).toMatchObject({
      user: { role: "dispatcher", name: "New Person" },
      organization: { name: agent.name },
    });
    const { invitations } = await asOwner(`{ invitations { email } }`);
    expect(invitations).not.toContainEqual({ email });
  });

  // evidence: account-link-never-signs-in
  it("does not sign the user in by the link alone", async () => {
    const { token } = await registration();
    const outsider = createSessionClient(app);
    await outsider.post("/auth/links/accept", { token, name: "New Person", password: VALID_PASSWORD });
    expect(outsider.cookie).toBe("");
  });

  it("resends the registration link and invalidates the previous one", async () => {
    const { id, email, token } = await registration();
    expect(await rig.decide("resendRegistration", { id })).toMatchObject({ userErrors: [] });
    const second = extractLinkToken(await waitForMail(app, email, "registration"), "register");
    expect(second).not.toBe(token);
    expectFailure(await accept(token), 404);
    expectData(await accept(second));
  });
});

describe("400", () => {
  it("keeps the link valid after an invalid name or password", async () => {
    const { email, token } = await registration();
    expectProblems(await accept(token, { password: "short" }), "body", ["password"]);
    expectProblems(await accept(token, { password: email }), "body", ["password"]);
    expectProblems(await accept(token, { name: " " }), "body", ["name"]);
    expectProblems(await accept(token, { name: "a\u202Eb", password: 7 }), "body", ["name", "password"]);
    expect(await usersOf(email)).toBe(0);
    expectData(await accept(token));
  });

  it("requires a token", async () => {
    expectProblems(await post("check", {}), "body", ["token"]);
    expectProblems(await post("check", { token: 1 }), "body", ["token"]);
  });
});

describe("409", () => {
  it("says that the e-mail address has an account by now", async () => {
    const { email, token } = await registration();
    const person = {
      email,
      name: "P",
      password: VALID_PASSWORD,
      organizationId: agent.id,
      role: "dispatcher",
    } as const;
    await app.database.transaction((tx) => app.accounts.users.createUser(tx, person));
    expectFailure(await accept(token), 409);
    expect(await usersOf(email)).toBe(1);
  });
});

describe("of several concurrent acceptances", () => {
  it.each([
    ["a registration", registration],
    ["an invitation", invitation],
  ])("one makes the account of %s", async (_what, make) => {
    const { email, token } = await make();
    const answers = await Promise.all(
      [1, 2, 3, 4, 5].map((index) => accept(token, { name: `Person ${index}` })),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 404, 404, 404, 404]);
    expect(await usersOf(email)).toBe(1);
    const acts = await app.database.query(
      sql`select from audit_entry where details ->> 'email' = ${email} and action in ('member.registered', 'member.joined')`,
    );
    expect(acts).toHaveLength(1);
  });
});

describe("an e-mail token", () => {
  // evidence: account-link-single-use
  it("is used up by exactly one of several concurrent transactions, and by none that rolls back", async () => {
    const links = new EmailTokenService({ database: app.database, clock: createFakeClock() });
    const token = await issued("invitation", "someone@test.example");
    const use = (fails: boolean): Promise<unknown> =>
      app.database.transaction(async (tx) => {
        const used = await links.consume(tx, token, "invitation");
        if (fails) throw new Error("refused");
        return used;
      });
    await expect(use(true)).rejects.toThrow("refused");
    const ends = await Promise.allSettled([1, 2, 3, 4].map(() => use(false)));
    expect(ends.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    await expect(use(false)).rejects.toMatchObject({ code: "NotFoundException" });
    await expect(links.check(token)).rejects.toMatchObject({ code: "NotFoundException" });
  });

  // evidence: account-link-purpose-bound
  it("is valid only for its own kind", async () => {
    const links = new EmailTokenService({ database: app.database, clock: createFakeClock() });
    const token = await issued("password_reset", "someone@test.example");
    await expect(
      app.database.transaction((tx) => links.consume(tx, token, "invitation")),
    ).rejects.toMatchObject({ status: 404 });
    expect(await app.database.transaction((tx) => links.consume(tx, token, "password_reset"))).toMatchObject({
      email: "someone@test.example",
    });
  });
});

it("accepting an invitation holds no lock while the password hash is queued", async () => {
  const { id, email, token } = await invitation();
  const isFree = async (): Promise<boolean> => {
    const rows = await app.database.query(
      sql`select from invitation where id = ${fromTypedId("inv", id)}::uuid for key share skip locked`,
    );
    return rows.length > 0;
  };
  let queued = 20;
  const outsiders = Array.from({ length: queued }, async (_, index) => {
    await createSessionClient(app).post("/auth/sign-in/email", {
      email: `${index}.${email}`,
      password: VALID_PASSWORD,
    });
    queued -= 1;
  });
  await outsiders[0];
  let isOver = false;
  const accepted = accept(token).finally(() => (isOver = true));
  let queuedWhenLocked: number | null = null;
  while (!isOver) if (!(await isFree())) queuedWhenLocked ??= queued;
  const hashesMeanwhile = (queuedWhenLocked ?? queued) - queued;
  expectData(await accepted);
  await Promise.all(outsiders);
  // A few statements take less time than the hashes of the queue.
  expect(hashesMeanwhile).toBeLessThan(8);
});

describe("429", () => {
  // evidence: account-link-tries-limit-per-ip
  it("after too many attempts from one IP address", async () => {
    const from = randomClientIpHeader();
    const statuses: number[] = [];
    for (let tried = 0; tried < 70; tried += 1)
      statuses.push((await post("check", { token: randomBytes(32).toString("base64url") }, from)).status);
    expect(statuses[0]).toBe(404);
    expect(statuses.at(-1)).toBe(429);
  });
});

it("stores no usable token in any table", async () => {
  const { token } = await registration();
  const tables = ["email_token", "audit_entry", "account_request", "mail", "account_request_note"];
  for (const table of tables) {
    const rows = await app.database.query<{ row: string }>(
      sql`select kept::text as row from ${raw(table)} kept`,
    );
    expect({ table, isEmpty: rows.length === 0 }).toEqual({ table, isEmpty: false });
    expect(rows.map(({ row }) => row).join("\n")).not.toContain(token);
  }
});

describe("404 with one message", () => {
  it("for unknown, malformed, used, expired, revoked and mismatched links", async () => {
    const used = await registration();
    expectData(await accept(used.token));
    const expired = await registration();
    const revoked = await invitation();
    await asOwner(`mutation ($id: ID!) { revokeInvitation(id: $id) { id } }`, { id: revoked.id });
    await app.database.query(sql`update email_token set expires_at = now() where email = ${expired.email}`);
    const tokens = {
      unknown: randomBytes(32).toString("base64url"),
      malformed: "x",
      empty: "",
      long: "x".repeat(5_000),
      used: used.token,
      expired: expired.token,
      revoked: revoked.token,
    };
    const answers = new Set<string>();
    for (const token of Object.values(tokens)) {
      for (const answer of [await post("check", { token }), await accept(token)]) {
        expectFailure(answer, 404);
        answers.add(JSON.stringify(withoutRequestId(answer)));
      }
    }
    for (const kind of ["password_reset", "account_request_answer"] as const)
      answers.add(JSON.stringify(withoutRequestId(await accept(await issued(kind, "someone@test.example")))));
    expect([...answers]).toHaveLength(1);
    expect(await usersOf(expired.email)).toBe(0);
    expect(await usersOf(revoked.email)).toBe(0);
  });

  // evidence: account-link-expiry
  it("exactly 72 hours after the link was sent", async () => {
    const clock = createFakeClock();
    const links = new EmailTokenService({ database: app.database, clock });
    const email = "someone@test.example";
    const { token } = await links.issue(app.database, { kind: "registration", subjectId: newUuid(), email });
    clock.advance(72 * HOUR_MS - 1);
    expect(await links.check(token)).toMatchObject({ email });
    clock.advance(1);
    await expect(links.check(token)).rejects.toMatchObject({ status: 404 });
  });
});
