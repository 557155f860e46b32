/** E-mailed links: single use, expiry and purpose, and one response for every invalid link. */
import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import {
  checkEmailToken,
  consumeEmailToken,
  issueEmailLink,
} from "../../src/accounts/email-token.service.ts";
import type { EmailTokenKind } from "../../src/accounts/email-token.service.ts";
import { fromTypedId, newUuid } from "../../src/core/ids.ts";
import { raw, sql } from "../../src/core/postgres/sql.ts";
import { openAccountRequestFixture } from "../support/accounts/account-request.fixture.ts";
import * as accounts from "../support/accounts/accounts.fixture.ts";
import { createSignedInUser, inviteMember } from "../support/accounts/signed-in-user.ts";
import { createFakeClock, HOUR_MS } from "../support/fake-clock.ts";

const { VALID_PASSWORD, createSessionClient, expectData, expectFailure, expectProblems } = accounts;
const { app, agent, signIn, post } = await accounts.openAccounts();
const requests = await openAccountRequestFixture();

const owner = await createSignedInUser(app, agent.id);

const check = (token: unknown, headers = {}) => post("/auth/links/check", { token }, headers);
const accept = (token: string, change: object = {}) =>
  post("/auth/links/accept", { token, name: "New Person", password: VALID_PASSWORD, ...change });
const sessionOf = async (email: string) =>
  expectData(await (await signIn({ email, password: VALID_PASSWORD })).get("/auth/session"));

const registration = () => requests.approve({ organization_type: "contractor" });
const invitation = () => inviteMember(app, owner);

const EMAIL = "someone@test.example";
const context = (clock = createFakeClock()) => ({
  database: app.database,
  clock,
  throttle: app.accounts.throttle,
  pageUrl: (path: string) => path,
});
const issue = async (kind: EmailTokenKind, links = context()): Promise<string> => {
  const { url } = await issueEmailLink(app.database, links, { kind, subjectId: newUuid(), email: EMAIL });
  return url.replace(/^.*#token=/, "");
};
/** From another IP address each time. */
const open = (token: string, kind?: EmailTokenKind, links = context()) =>
  checkEmailToken(
    links,
    token,
    { ipAddress: Object.values(accounts.randomClientIpHeader())[0]! },
    ...(kind ? [kind] : []),
  );

const usersOf = async (email: string): Promise<number> =>
  (await app.database.query(sql`select from user_account where email = ${email}`)).length;

describe("200", () => {
  // evidence: account-link-never-signs-in
  it("describes a registration link any number of times, and creates the contractor's owner without signing in", async () => {
    const earliestMs = Date.now();
    const { email, organization_name: name, token } = await registration();
    for (let asked = 0; asked < 3; asked += 1) {
      const link = expectData(await check(token));
      const described = {
        kind: "registration",
        email,
        organization_name: name,
        single_sign_on: null,
        question: null,
      };
      expect(link).toEqual({ ...described, expires_at: expect.any(String) });
      expect(Date.parse(link.expires_at)).toBeGreaterThanOrEqual(earliestMs + 72 * HOUR_MS);
      expect(Date.parse(link.expires_at)).toBeLessThanOrEqual(Date.now() + 72 * HOUR_MS);
    }
    const browser = createSessionClient(app);
    const body = { token, name: "New Person", password: VALID_PASSWORD };
    expect(expectData(await browser.post("/auth/links/accept", body))).toEqual({});
    expect(browser.cookie).toBe("");
    expect(await sessionOf(email)).toMatchObject({
      user: { role: "owner" },
      organization: { type: "contractor" },
    });
  });

  it("resends the registration link and invalidates the previous one", async () => {
    const { id, email, token } = await registration();
    expect(await requests.decide("resendRegistration", { id })).toMatchObject({ userErrors: [] });
    const second = await requests.registrationToken(email);
    expectFailure(await accept(token), 404);
    expectData(await accept(second));
  });
});

describe("400", () => {
  it("keeps the link valid after an invalid name or password", async () => {
    const { email, token } = await registration();
    for (const change of [
      { password: "short" },
      { password: email },
      { name: " " },
      { name: "a\u202Eb", password: 7 },
    ])
      expectProblems(await accept(token, change), "body", Object.keys(change));
    expect(await usersOf(email)).toBe(0);
    expectData(await accept(token));
  });

  it.each([undefined, 1])("requires a token, not %s", async (token) => {
    expectProblems(await check(token), "body", ["token"]);
  });
});

it.each([
  ["a registration", registration],
  ["an invitation", invitation],
])("one of several concurrent acceptances makes the account of %s", async (_what, make) => {
  const { email, token } = await make();
  const answers = await Promise.all([1, 2, 3, 4, 5].map((index) => accept(token, { name: `P ${index}` })));
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 404, 404, 404, 404]);
  expect(await usersOf(email)).toBe(1);
  const acts = await app.database.query(sql`select from audit_entry
    where details ->> 'email' = ${email} and action in ('member.registered', 'member.joined')`);
  expect(acts).toHaveLength(1);
});

describe("an e-mail token", () => {
  // evidence: account-link-single-use, account-link-purpose-bound
  it("is used up for its own kind, by exactly one of several transactions, and by none that rolls back", async () => {
    const token = await issue("invitation");
    await expect(open(token, "password_reset")).rejects.toMatchObject({ status: 404 });
    const link = await open(token, "invitation");
    const use = (fails = false): Promise<unknown> =>
      app.database.transaction(async (tx) => {
        await consumeEmailToken(tx, context(), link);
        if (fails) throw new Error("refused");
      });
    await expect(use(true)).rejects.toThrow("refused");
    const ends = await Promise.allSettled([1, 2, 3, 4].map(() => use()));
    expect(ends.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    await expect(open(token)).rejects.toMatchObject({ code: "NotFoundException" });
  });

  // evidence: account-link-expiry
  it("expires exactly 72 hours after the link was sent", async () => {
    const clock = createFakeClock();
    const links = context(clock);
    const token = await issue("registration", links);
    clock.advance(72 * HOUR_MS - 1);
    expect(await open(token, "registration", links)).toMatchObject({ email: EMAIL });
    clock.advance(1);
    await expect(open(token, "registration", links)).rejects.toMatchObject({ status: 404 });
  });

  it("is usable from no table", async () => {
    const { token } = await registration();
    for (const table of ["email_token", "audit_entry", "account_request", "mail", "account_request_note"]) {
      const rows = await app.database.query<{ row: string }>(
        sql`select kept::text as row from ${raw(table)} kept`,
      );
      expect({ table, isEmpty: rows.length === 0 }).toEqual({ table, isEmpty: false });
      const text = rows.map(({ row }) => row).join("\n");
      for (const form of [token, Buffer.from(token).toString("hex")]) expect(text).not.toContain(form);
    }
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
    await post("/auth/sign-in/email", { email: `${index}.${email}`, password: VALID_PASSWORD });
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

// evidence: account-link-tries-limit-per-ip
it("returns 429 after too many attempts from one IP address", async () => {
  const from = accounts.randomClientIpHeader();
  const statuses: number[] = [];
  for (let tried = 0; tried < 70; tried += 1)
    statuses.push((await check(randomBytes(32).toString("base64url"), from)).status);
  expect([statuses[0], statuses.at(-1)]).toEqual([404, 429]);
});

it("returns 404 with one message for unknown, malformed, used, expired, revoked and mismatched links", async () => {
  const [used, expired, revoked] = [await registration(), await registration(), await invitation()];
  expectData(await accept(used.token));
  await owner.queryData(`mutation ($id: ID!) { revokeInvitation(id: $id) { id } }`, { id: revoked.id });
  await app.database.query(sql`update email_token set expires_at = now() where email = ${expired.email}`);
  const answers = new Set<string>();
  const unknown = [randomBytes(32).toString("base64url"), "x", "", "x".repeat(5_000)];
  for (const token of [...unknown, used.token, expired.token, revoked.token])
    for (const answer of [await check(token), await accept(token)]) {
      expectFailure(answer, 404);
      answers.add(JSON.stringify(accounts.withoutRequestId(answer)));
    }
  for (const kind of ["password_reset", "account_request_answer"] as const)
    answers.add(JSON.stringify(accounts.withoutRequestId(await accept(await issue(kind)))));
  expect([...answers]).toHaveLength(1);
  expect([await usersOf(expired.email), await usersOf(revoked.email)]).toEqual([0, 0]);
});
