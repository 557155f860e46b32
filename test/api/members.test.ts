/** Members and invitations: permissions, tenant isolation, and the last owner. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { UserRole } from "../../src/organizations/user.entity.ts";
import { toTypedId } from "../../src/platform/ids.ts";
import { sql } from "../../src/platform/postgres/sql.ts";
import {
  VALID_PASSWORD,
  createTestUser,
  createSessionClient,
  signIn,
  type SessionClient,
  type TestUser,
} from "../support/accounts/session-client.ts";
import {
  ACCOUNT_ENV,
  waitForMail,
  listMailsTo,
  randomClientIpHeader,
  extractLinkToken,
} from "../support/accounts/mails.ts";
import { expectData, expectFailure } from "../support/app/assertions.ts";
import { queryData, graphql } from "../support/graphql/client.ts";
import { startTestApp, type TestOrganization, type TestApp } from "../support/app/app.fixture.ts";

let app: TestApp;
let agent: TestOrganization;
let other: TestOrganization;
let owner: TestUser;
let browser: SessionClient;
let memberBrowser: SessionClient;
let otherBrowser: SessionClient;
let otherMember: TestUser;

beforeAll(async () => {
  app = await startTestApp(ACCOUNT_ENV);
  agent = await app.createOrganization("agent");
  other = await app.createOrganization("contractor");
  owner = await createTestUser(app, { organizationId: agent.id, role: "owner" });
  browser = await signIn(app, owner);
  memberBrowser = await signIn(app, await createTestUser(app, { organizationId: agent.id, role: "member" }));
  otherBrowser = await signIn(app, await createTestUser(app, { organizationId: other.id, role: "owner" }));
  otherMember = await createTestUser(app, { organizationId: other.id, role: "member" });
});
afterAll(() => app[Symbol.asyncDispose]());

function as(from: SessionClient, query: string, variables: Record<string, unknown> = {}) {
  return queryData(app, query, { headers: { cookie: from.cookie, origin: app.url }, variables });
}

function tryAs(from: SessionClient, query: string, variables: Record<string, unknown> = {}) {
  return graphql(app, query, { headers: { cookie: from.cookie, origin: app.url }, variables });
}

const userId = ({ id }: TestUser): string => toTypedId("usr", id);
const newEmail = (): string => `${randomBytes(6).toString("hex")}@test.example`;
const member = (organizationId: string | null = agent.id, role: UserRole = "member"): Promise<TestUser> =>
  createTestUser(app, { organizationId, role });

const REMOVE = `mutation ($id: ID!) { removeMember(id: $id) { id userErrors { code field message } } }`;
const SET_ROLE = `mutation ($id: ID!, $role: MemberRole!) {
  setMemberRole(id: $id, role: $role) { member { id role } userErrors { code field message } } }`;
const INVITE = `mutation ($email: String!, $role: MemberRole! = MEMBER) {
  inviteMember(input: { email: $email, role: $role }) {
    invitation { id email role invitedBy invitedAt expiresAt } userErrors { code field message } } }`;
const RESEND = `mutation ($id: ID!) { resendInvitation(id: $id) { invitation { id } userErrors { code field } } }`;
const REVOKE = `mutation ($id: ID!) { revokeInvitation(id: $id) { id userErrors { code field } } }`;

const remove = async (from: SessionClient, id: string) => (await as(from, REMOVE, { id })).removeMember;
const setRole = async (from: SessionClient, id: string, role: string) =>
  (await as(from, SET_ROLE, { id, role })).setMemberRole;
const invite = async (from: SessionClient, email: string, role = "MEMBER") =>
  (await as(from, INVITE, { email, role })).inviteMember;

/** Returns a new organisation with two signed-in owners. */
async function twoOwners() {
  const { id: organizationId } = await app.createOrganization("agent");
  const people = [await member(organizationId, "owner"), await member(organizationId, "owner")] as const;
  const browsers = [await signIn(app, people[0]), await signIn(app, people[1])] as const;
  return { organizationId, people, browsers };
}

async function ownersOf(organizationId: string): Promise<number> {
  const rows = await app.database.query(
    sql`select from user_account where organization_id = ${organizationId} and role = 'owner'`,
  );
  return rows.length;
}

function forgotten(email: string) {
  const body = JSON.stringify({ email });
  return createSessionClient(app).call("/auth/password/forgotten", {
    method: "POST",
    headers: randomClientIpHeader(),
    body,
  });
}

describe("members", () => {
  it("are visible only to the users and keys of their organisation", async () => {
    const mine = await as(
      memberBrowser,
      `{ members { id name email role hasTwoFactor lastSeenAt createdAt } }`,
    );
    const emails = mine.members.map(({ email }: { email: string }) => email);
    expect(emails).toContain(owner.email);
    expect(emails).not.toContain(otherMember.email);
    const byKey = await queryData(app, `{ members { id } }`, { key: other.key });
    expect(byKey.members.map(({ id }: { id: string }) => id)).toContain(userId(otherMember));
    const found = await as(browser, `query ($id: ID!) { node(id: $id) { id } }`, { id: userId(otherMember) });
    expect(found.node).toBeNull();
  });

  // evidence: members-hidden-from-job-keys
  it("are not visible to a key with job scopes only", async () => {
    const { key } = await app.createOrganization("agent", { scopes: ["jobs:read", "jobs:write"] });
    const { errors } = await graphql(
      app,
      `
        {
          members {
            email
          }
        }
      `,
      { key },
    );
    expect(errors?.[0]?.extensions).toMatchObject({ code: "FORBIDDEN" });
    const inOther = await app.keys.create({
      organizationId: other.id,
      name: "jobs alone",
      createdBy: "test",
      scopes: ["jobs:read"],
    });
    const query = `query ($id: ID!) { node(id: $id) { id } }`;
    const variables = { id: userId(otherMember) };
    expect((await queryData(app, query, { key: inOther.text, variables })).node).toBeNull();
    expect((await queryData(app, query, { key: other.key, variables })).node).toEqual(variables);
  });

  it("are the operators, for an operator", async () => {
    const person = await member(null, "operator");
    const operator = await signIn(app, person);
    const { members } = await as(operator, `{ members { id role } }`);
    expect(members).toContainEqual({ id: userId(person), role: "OPERATOR" });
    expect(new Set(members.map(({ role }: { role: string }) => role))).toEqual(new Set(["OPERATOR"]));
  });

  it("can become owners, and members again", async () => {
    const person = await member();
    expect(await setRole(browser, userId(person), "OWNER")).toEqual({
      member: { id: userId(person), role: "OWNER" },
      userErrors: [],
    });
    const session = await signIn(app, person);
    expect(expectData(await session.get("/auth/session")).scopes).toContain("webhooks:manage");
    await setRole(browser, userId(person), "MEMBER");
    expect(expectData(await session.get("/auth/session")).scopes).not.toContain("webhooks:manage");
  });

  // evidence: member-removal-ends-sessions
  it("lose their sessions immediately when removed", async () => {
    const person = await member();
    const theirs = await signIn(app, person);
    expectData(await theirs.get("/auth/session"));
    expect(await remove(browser, userId(person))).toEqual({ id: userId(person), userErrors: [] });
    expectFailure(await theirs.get("/auth/session"), 401);
    const asked = await tryAs(theirs, `{ members { id } }`);
    expect(asked.status).toBe(401);
    expectFailure(
      await createSessionClient(app).post("/auth/sign-in", { email: person.email, password: VALID_PASSWORD }),
      401,
    );
    expect(await remove(browser, userId(person))).toMatchObject({
      id: null,
      userErrors: [{ code: "NOT_FOUND" }],
    });
  });

  it("can be removed and changed by owners only", async () => {
    const person = await member();
    for (const [query, variables] of [
      [REMOVE, { id: userId(person) }],
      [SET_ROLE, { id: userId(person), role: "OWNER" }],
      [INVITE, { email: newEmail() }],
      [`{ invitations { id } }`, {}],
    ] as const) {
      expect((await tryAs(memberBrowser, query, variables)).errors?.[0]?.extensions.code).toBe("FORBIDDEN");
      const byKey = await graphql(app, query, { key: agent.key, variables });
      expect(byKey.errors?.[0]?.extensions.code).toBe("FORBIDDEN");
    }
  });

  it("of another organisation return NOT_FOUND", async () => {
    for (const id of [userId(otherMember), "usr_00000000000000000000000000", "nothing", "org_x"]) {
      const expected = {
        userErrors: [{ code: "NOT_FOUND", field: "id", message: "There is no such member" }],
      };
      expect(await remove(browser, id)).toMatchObject(expected);
      expect(await setRole(browser, id, "OWNER")).toMatchObject(expected);
    }
    const operator = await member(null, "operator");
    expect(await remove(browser, userId(operator))).toMatchObject({ userErrors: [{ code: "NOT_FOUND" }] });
  });

  it("cannot become operators, nor operators members", async () => {
    const person = await member();
    expect(await setRole(browser, userId(person), "OPERATOR")).toMatchObject({
      member: null,
      userErrors: [{ code: "INVALID", field: "role" }],
    });
    expect(await invite(browser, newEmail(), "OPERATOR")).toMatchObject({
      invitation: null,
      userErrors: [{ code: "INVALID", field: "input.role" }],
    });
  });
});

describe("the last owner", () => {
  it("cannot be removed or made a member", async () => {
    const { id } = await app.createOrganization("agent");
    const person = await member(id, "owner");
    const theirs = await signIn(app, person);
    await member(id);
    expect(await remove(theirs, userId(person))).toMatchObject({
      id: null,
      userErrors: [{ code: "CONFLICT" }],
    });
    expect(await setRole(theirs, userId(person), "MEMBER")).toMatchObject({
      userErrors: [{ code: "CONFLICT" }],
    });
    expect((await setRole(theirs, userId(person), "OWNER")).userErrors).toEqual([]);
    expect(await ownersOf(id)).toBe(1);
  });

  it("remains when two owners remove each other", async () => {
    for (let round = 0; round < 5; round += 1) {
      const { organizationId, people, browsers } = await twoOwners();
      const answers = await Promise.all([
        tryAs(browsers[0], REMOVE, { id: userId(people[1]) }),
        tryAs(browsers[1], REMOVE, { id: userId(people[0]) }),
      ]);
      expect(answers.filter(({ data }) => data?.removeMember?.userErrors.length === 0)).toHaveLength(1);
      expect(await ownersOf(organizationId)).toBe(1);
    }
  });

  it("remains when two owners step down concurrently", async () => {
    for (let round = 0; round < 5; round += 1) {
      const { organizationId, people, browsers } = await twoOwners();
      await Promise.all([
        setRole(browsers[0], userId(people[0]), "MEMBER"),
        setRole(browsers[1], userId(people[1]), "MEMBER"),
      ]);
      expect(await ownersOf(organizationId)).toBe(1);
    }
  });
});

describe("invitations", () => {
  it("are mailed, listed, and accepted with their role", async () => {
    const email = newEmail();
    const { invitation, userErrors } = await invite(browser, ` ${email.toUpperCase()} `, "OWNER");
    expect(userErrors).toEqual([]);
    expect(invitation).toMatchObject({ email, role: "OWNER", invitedBy: owner.email });
    expect((Date.parse(invitation.expiresAt) - Date.parse(invitation.invitedAt)) / 3_600_000).toBeCloseTo(
      72,
      2,
    );
    const { invitations } = await as(browser, `{ invitations { id email } }`);
    expect(invitations[0]).toEqual({ id: invitation.id, email });
    const mail = await waitForMail(app, email, "invitation");
    expect(mail.text).toContain(agent.name);
    expect(mail.text).toContain(owner.email);
    const token = extractLinkToken(mail, "invitation");
    const body = { token, name: "Second Owner", password: VALID_PASSWORD };
    expectData(
      await createSessionClient(app).call("/auth/links/accept", {
        method: "POST",
        headers: randomClientIpHeader(),
        body: JSON.stringify(body),
      }),
    );
    expect((await as(browser, `{ invitations { email } }`)).invitations).not.toContainEqual({ email });
    const { members } = await as(browser, `{ members { email role } }`);
    expect(members).toContainEqual({ email, role: "OWNER" });
  });

  it("can be resent, which invalidates the previous link, and revoked, which invalidates every link", async () => {
    const email = newEmail();
    const { invitation } = await invite(browser, email);
    const first = extractLinkToken(await waitForMail(app, email, "invitation"), "invitation");
    const resent = (await as(browser, RESEND, { id: invitation.id })).resendInvitation;
    expect(resent).toEqual({ invitation: { id: invitation.id }, userErrors: [] });
    const second = extractLinkToken(await waitForMail(app, email, "invitation"), "invitation");
    const check = (token: string) =>
      createSessionClient(app).call("/auth/links/check", {
        method: "POST",
        headers: randomClientIpHeader(),
        body: JSON.stringify({ token }),
      });
    expectFailure(await check(first), 404);
    expectData(await check(second));
    expect((await as(browser, REVOKE, { id: invitation.id })).revokeInvitation).toEqual({
      id: invitation.id,
      userErrors: [],
    });
    expectFailure(await check(second), 404);
    const again = (await as(browser, REVOKE, { id: invitation.id })).revokeInvitation;
    expect(again).toMatchObject({ id: null, userErrors: [{ code: "NOT_FOUND", field: "id" }] });
  });

  it("of another organisation return NOT_FOUND", async () => {
    const { invitation } = await invite(otherBrowser, newEmail());
    for (const id of [invitation.id, "inv_00000000000000000000000000", "nothing"]) {
      const expected = { userErrors: [{ code: "NOT_FOUND", field: "id" }] };
      expect((await as(browser, RESEND, { id })).resendInvitation).toMatchObject(expected);
      expect((await as(browser, REVOKE, { id })).revokeInvitation).toMatchObject(expected);
    }
    expect((await as(browser, `{ invitations { id } }`)).invitations).not.toContainEqual({
      id: invitation.id,
    });
    expect((await as(otherBrowser, `{ invitations { id } }`)).invitations).toContainEqual({
      id: invitation.id,
    });
  });

  // evidence: invitations-limit-concurrent
  it.each(["an organisation", "the operators"])(
    "are limited to 100 pending per group, also when sent concurrently: %s",
    async (group) => {
      const partner = group === "a partner" ? await app.createOrganization("agent") : null;
      const organizationId = partner?.id ?? null;
      const from = await signIn(
        app,
        await createTestUser(app, { organizationId, role: partner ? "owner" : "operator" }),
      );
      const [{ pending }] = (await app.database.query<{ pending: number }>(sql`
      select count(*)::int as pending from invitation
      where organization_id is not distinct from ${organizationId}::uuid`)) as [{ pending: number }];
      await app.database.query(sql`
      insert into invitation (id, organization_id, email, role, invited_by, invited_at)
      select gen_random_uuid(), ${organizationId}::uuid, ${newEmail()} || number, ${partner ? "member" : "operator"}, 'test', now()
      from generate_series(1, ${98 - pending}::int) number`);
      const results = await Promise.all(
        Array.from({ length: 6 }, () => invite(from, newEmail(), partner ? "MEMBER" : "OPERATOR")),
      );
      expect(results.filter(({ invitation }) => invitation !== null)).toHaveLength(2);
      await app.database.query(sql`
      delete from invitation where organization_id is not distinct from ${organizationId}::uuid`);
    },
  );

  it("reject a member, an invited e-mail address, and an invalid one", async () => {
    const email = newEmail();
    await invite(browser, email);
    const conflict = { invitation: null, userErrors: [{ code: "CONFLICT", field: "input.email" }] };
    expect(await invite(browser, email)).toMatchObject(conflict);
    expect(await invite(browser, owner.email)).toMatchObject(conflict);
    for (const wrong of [
      "unknown",
      "a@b\r\nBcc: c@test.example",
      "a@test.example, b@test.example",
      "\0@test.example",
    ])
      expect(await invite(browser, wrong)).toMatchObject({
        invitation: null,
        userErrors: [{ code: "INVALID", field: "input.email" }],
      });
  });

  it("do not reveal that an e-mail address has an account elsewhere, but mail its owner", async () => {
    const known = await invite(browser, otherMember.email);
    const unknown = await invite(browser, newEmail());
    const shape = ({ invitation, userErrors }: typeof known) => ({
      keys: Object.keys(invitation),
      role: invitation.role,
      userErrors,
    });
    expect(shape(known)).toEqual(shape(unknown));
    expect((await listMailsTo(app, otherMember.email)).map(({ kind }) => kind)).toEqual([
      "invitation_elsewhere",
    ]);
    expect((await listMailsTo(app, otherMember.email))[0]?.text).not.toContain("token=");
    // Both are listed in the same way.
    const { invitations } = await as(browser, `{ invitations { email } }`);
    expect(invitations).toContainEqual({ email: otherMember.email });
  });

  it("are mailed even after the e-mail address has reached its limit of password reset mails", async () => {
    const person = await member(other.id);
    for (let index = 0; index < 3; index += 1) expect((await forgotten(person.email)).status).toBe(202);
    await vi.waitFor(async () => expect(await listMailsTo(app, person.email)).toHaveLength(3));
    expect((await invite(browser, person.email)).userErrors).toEqual([]);
  });

  it("are not limited by another organisation's invitations to the same e-mail address", async () => {
    const email = newEmail();
    const { invitation } = await invite(browser, email);
    for (let sent = 0; sent < 2; sent += 1) await as(browser, RESEND, { id: invitation.id });
    expect((await invite(otherBrowser, email)).userErrors).toEqual([]);
  });

  it("can come from two organisations; the first to be accepted wins", async () => {
    const email = newEmail();
    await invite(browser, email);
    const first = extractLinkToken(await waitForMail(app, email, "invitation"), "invitation");
    await invite(otherBrowser, email);
    const second = (await listMailsTo(app, email)).map((mail) =>
      extractLinkToken(mail, "invitation"),
    )[1] as string;
    const accept = (token: string) =>
      createSessionClient(app).call("/auth/links/accept", {
        method: "POST",
        headers: randomClientIpHeader(),
        body: JSON.stringify({ token, name: "Someone", password: VALID_PASSWORD }),
      });
    const answers = await Promise.all([accept(first), accept(second)]);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
  });

  it("by operators create operators", async () => {
    const operator = await signIn(app, await member(null, "operator"));
    const email = newEmail();
    expect(await invite(operator, email)).toMatchObject({
      userErrors: [{ code: "INVALID", field: "input.role" }],
    });
    expect((await invite(operator, email, "OPERATOR")).userErrors).toEqual([]);
    expect((await invite(operator, email, "OPERATOR")).userErrors).toMatchObject([{ code: "CONFLICT" }]);
    const token = extractLinkToken(await waitForMail(app, email, "invitation"), "invitation");
    const body = JSON.stringify({ token, name: "Operator", password: VALID_PASSWORD });
    expectData(
      await createSessionClient(app).call("/auth/links/accept", {
        method: "POST",
        headers: randomClientIpHeader(),
        body,
      }),
    );
    const session = expectData(
      await (await signIn(app, { email, password: VALID_PASSWORD })).get("/auth/session"),
    );
    expect(session).toMatchObject({ user: { role: "operator" }, organization: null });
  });

  // evidence: invitations-limit
  it("are limited to 100 pending", async () => {
    const { id } = await app.createOrganization("agent");
    const theirs = await signIn(app, await member(id, "owner"));
    await app.database.query(sql`
      insert into invitation (id, organization_id, email, role, invited_by, invited_at)
      select gen_random_uuid(), ${id}, 'a' || n || '@test.example', 'member', 'test', now() from generate_series(1, 100) n`);
    expect(await invite(theirs, newEmail())).toMatchObject({ userErrors: [{ code: "LIMIT_EXCEEDED" }] });
  });

  it("of one organisation are limited in total", async () => {
    const { id } = await app.createOrganization("agent");
    const theirs = await signIn(app, await member(id, "owner"));
    for (let index = 0; index < 149; index += 1) await app.accounts.throttle.take(["invitation-group", id]);
    expect((await invite(theirs, newEmail())).userErrors).toEqual([]);
    const { errors } = await tryAs(theirs, INVITE, { email: newEmail() });
    expect(errors?.[0]?.extensions.code).toBe("RATE_LIMITED");
  });

  // evidence: invitation-mail-limit-per-recipient
  it("are limited per e-mail address", async () => {
    const email = newEmail();
    const { invitation } = await invite(browser, email);
    const codes: (string | undefined)[] = [];
    for (let sent = 0; sent < 4; sent += 1)
      codes.push((await tryAs(browser, RESEND, { id: invitation.id })).errors?.[0]?.extensions.code);
    expect(codes).toEqual([undefined, undefined, "RATE_LIMITED", "RATE_LIMITED"]);
    expect(await listMailsTo(app, email)).toHaveLength(3);
  });
});
