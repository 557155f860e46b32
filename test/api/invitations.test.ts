/** Invitations of members: links, tenant isolation and limits. */
import { beforeAll, describe, expect, it } from "vitest";
import type { UserRole } from "../../src/organizations/user.entity.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import {
  VALID_PASSWORD,
  createTestUser,
  createSessionClient,
  signIn,
  type SessionClient,
  type TestUser,
} from "../support/accounts/session-client.ts";
import {
  extractLinkToken,
  listMailsTo,
  randomClientIpHeader,
  waitForMail,
} from "../support/accounts/mails.ts";
import {
  graphqlAs,
  INVITE,
  newEmail,
  openMembersFixture,
  queryAs,
  type MembersFixture,
} from "../support/accounts/members.fixture.ts";
import { expectData, expectFailure } from "../support/app/assertions.ts";
import { eventually } from "../support/eventually.ts";

let app: MembersFixture["app"];
let agent: MembersFixture["agent"];
let other: MembersFixture["other"];
let owner: MembersFixture["owner"];
let otherMember: MembersFixture["otherMember"];
let browser: MembersFixture["browser"];
let otherBrowser: MembersFixture["otherBrowser"];

beforeAll(async () => {
  ({ app, agent, other, owner, otherMember, browser, otherBrowser } = await openMembersFixture());
});

const as = (from: SessionClient, query: string, variables?: object) => queryAs(app, from, query, variables);
const tryAs = (from: SessionClient, query: string, variables?: object) =>
  graphqlAs(app, from, query, variables);

const member = (organizationId: string | null = agent.id, role: UserRole = "member"): Promise<TestUser> =>
  createTestUser(app, { organizationId, role });

const RESEND = `mutation ($id: ID!) { resendInvitation(id: $id) { invitation { id } userErrors { code field } } }`;
const REVOKE = `mutation ($id: ID!) { revokeInvitation(id: $id) { id userErrors { code field } } }`;

const invite = async (from: SessionClient, email: string, role = "MEMBER") =>
  (await as(from, INVITE, { email, role })).inviteMember;

function forgotten(email: string) {
  const body = JSON.stringify({ email });
  return createSessionClient(app).call("/auth/password/forgotten", {
    method: "POST",
    headers: randomClientIpHeader(),
    body,
  });
}

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
      const partner = group === "an organisation" ? await app.createOrganization("agent") : null;
      const organizationId = partner?.id ?? null;
      const person = await createTestUser(app, { organizationId, role: partner ? "owner" : "operator" });
      const from = await signIn(app, person);
      const [{ pending }] = (await app.database.query<{ pending: number }>(sql`
      select count(*)::int as pending from invitation
      where organization_id is not distinct from ${organizationId}::uuid`)) as [{ pending: number }];
      await app.database.query(sql`
      insert into invitation (id, organization_id, email, role, invited_by, invited_at)
      select gen_random_uuid(), ${organizationId}::uuid, ${newEmail()} || number, ${partner ? "member" : "operator"}, ${person.email}, now()
      from generate_series(1, ${98 - pending}::int) number`);
      const results = await Promise.all(
        Array.from({ length: 6 }, () => invite(from, newEmail(), partner ? "MEMBER" : "OPERATOR")),
      );
      expect(results.filter(({ invitation }) => invitation !== null)).toHaveLength(2);
      await app.database.query(sql`delete from invitation where invited_by = ${person.email}`);
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
    await eventually(async () => expect(await listMailsTo(app, person.email)).toHaveLength(3));
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
