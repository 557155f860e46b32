/** Members and their invitations: permissions, links, limits, tenant isolation, and the last owner. */
import { randomBytes } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import type { UserRole } from "../../src/organizations/user.entity.ts";
import { toTypedId } from "../../src/core/ids.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import {
  VALID_PASSWORD,
  createTestUser,
  createSessionClient,
  signIn,
  type TestUser,
} from "../support/accounts/session-client.ts";
import {
  extractLinkToken,
  listMailsTo,
  randomClientIpHeader,
  waitForMail,
} from "../support/accounts/mails.ts";
import { createSignedInUser, signInUser, type SignedInTestUser } from "../support/accounts/signed-in-user.ts";
import type { TestOrganization } from "../support/app/app.fixture.ts";
import { expectData, expectFailure } from "../support/app/assertions.ts";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";
import { eventually } from "../support/eventually.ts";
import { queryData, graphql } from "../support/graphql/client.ts";

let app: SharedApp;
let agent: TestOrganization;
let other: TestOrganization;
let owner: SignedInTestUser;
let ownMember: SignedInTestUser;
let otherOwner: SignedInTestUser;
let otherMember: SignedInTestUser;

beforeAll(async () => {
  app = await sharedApp("api");
  agent = await app.createOrganization("agent");
  other = await app.createOrganization("contractor");
  owner = await createSignedInUser(app, agent.id);
  ownMember = await createSignedInUser(app, agent.id, "dispatcher");
  otherOwner = await createSignedInUser(app, other.id);
  otherMember = await createSignedInUser(app, other.id, "dispatcher");
});

const userId = ({ id }: TestUser): string => toTypedId("usr", id);
const newEmail = (): string => `${randomBytes(6).toString("hex")}@test.example`;
const member = (organizationId: string | null = agent.id, role: UserRole = "dispatcher"): Promise<TestUser> =>
  createTestUser(app, { organizationId, role });

const INVITE = `mutation ($email: String!, $role: MemberRole! = DISPATCHER) {
  inviteMember(input: { email: $email, role: $role }) {
    invitation { id email role invitedBy invitedAt expiresAt } userErrors { code field message } } }`;
const RESEND = `mutation ($id: ID!) { resendInvitation(id: $id) { invitation { id } userErrors { code field } } }`;
const REVOKE = `mutation ($id: ID!) { revokeInvitation(id: $id) { id userErrors { code field } } }`;

const invite = async (from: SignedInTestUser, email: string, role = "DISPATCHER") =>
  (await from.queryData(INVITE, { email, role })).inviteMember;

/** Sends a request from an IP address of its own, without a session. */
const post = (path: string, body: object) =>
  createSessionClient(app).call(path, {
    method: "POST",
    headers: randomClientIpHeader(),
    body: JSON.stringify(body),
  });

const accept = (token: string, name = "Someone") =>
  post("/auth/links/accept", { token, name, password: VALID_PASSWORD });

const REMOVE = `mutation ($id: ID!) { removeMember(id: $id) { id userErrors { code field message } } }`;
const SET_ROLE = `mutation ($id: ID!, $role: MemberRole!) {
  setMemberRole(id: $id, role: $role) { member { id role } userErrors { code field message } } }`;

const remove = async (from: SignedInTestUser, id: string) =>
  (await from.queryData(REMOVE, { id })).removeMember;
const setRole = async (from: SignedInTestUser, id: string, role: string) =>
  (await from.queryData(SET_ROLE, { id, role })).setMemberRole;

/** Returns a new organisation with two signed-in owners. */
async function twoOwners() {
  const { id: organizationId } = await app.createOrganization("agent");
  const people = [await member(organizationId, "owner"), await member(organizationId, "owner")] as const;
  const browsers = [await signInUser(app, people[0]), await signInUser(app, people[1])] as const;
  return { organizationId, people, browsers };
}

async function ownersOf(organizationId: string): Promise<number> {
  const rows = await app.database.query(
    sql`select from user_account where organization_id = ${organizationId} and role = 'owner'`,
  );
  return rows.length;
}

describe("invitations", () => {
  it("are mailed, listed, and accepted with their role", async () => {
    const email = newEmail();
    const { invitation, userErrors } = await invite(owner, ` ${email.toUpperCase()} `, "OWNER");
    expect(userErrors).toEqual([]);
    expect(invitation).toMatchObject({ email, role: "OWNER", invitedBy: owner.email });
    expect((Date.parse(invitation.expiresAt) - Date.parse(invitation.invitedAt)) / 3_600_000).toBeCloseTo(
      72,
      2,
    );
    const { invitations } = await owner.queryData(`{ invitations { id email } }`);
    expect(invitations[0]).toEqual({ id: invitation.id, email });
    const mail = await waitForMail(app, email, "invitation");
    expect(mail.text).toContain(agent.name);
    expect(mail.text).toContain(owner.email);
    const token = extractLinkToken(mail, "invitation");
    expectData(await accept(token, "Second Owner"));
    expect((await owner.queryData(`{ invitations { email } }`)).invitations).not.toContainEqual({ email });
    const { members } = await owner.queryData(`{ members { email role } }`);
    expect(members).toContainEqual({ email, role: "OWNER" });
  });

  it("can be resent, which invalidates the previous link, and revoked, which invalidates every link", async () => {
    const email = newEmail();
    const { invitation } = await invite(owner, email);
    const first = extractLinkToken(await waitForMail(app, email, "invitation"), "invitation");
    const resent = (await owner.queryData(RESEND, { id: invitation.id })).resendInvitation;
    expect(resent).toEqual({ invitation: { id: invitation.id }, userErrors: [] });
    const second = extractLinkToken(await waitForMail(app, email, "invitation"), "invitation");
    expectFailure(await post("/auth/links/check", { token: first }), 404);
    expectData(await post("/auth/links/check", { token: second }));
    expect((await owner.queryData(REVOKE, { id: invitation.id })).revokeInvitation).toEqual({
      id: invitation.id,
      userErrors: [],
    });
    expectFailure(await post("/auth/links/check", { token: second }), 404);
    const again = (await owner.queryData(REVOKE, { id: invitation.id })).revokeInvitation;
    expect(again).toMatchObject({ id: null, userErrors: [{ code: "NOT_FOUND", field: "id" }] });
  });

  it("of another organisation return NOT_FOUND", async () => {
    const { invitation } = await invite(otherOwner, newEmail());
    for (const id of [invitation.id, "inv_00000000000000000000000000", "nothing"]) {
      const expected = { userErrors: [{ code: "NOT_FOUND", field: "id" }] };
      expect((await owner.queryData(RESEND, { id })).resendInvitation).toMatchObject(expected);
      expect((await owner.queryData(REVOKE, { id })).revokeInvitation).toMatchObject(expected);
    }
    expect((await owner.queryData(`{ invitations { id } }`)).invitations).not.toContainEqual({
      id: invitation.id,
    });
    expect((await otherOwner.queryData(`{ invitations { id } }`)).invitations).toContainEqual({
      id: invitation.id,
    });
  });

  // evidence: invitations-limit, invitations-limit-concurrent
  it.each(["an organisation", "the operators"])(
    "are limited to 100 pending per group, also when sent concurrently: %s",
    async (group) => {
      const partner = group === "an organisation" ? await app.createOrganization("agent") : null;
      const organizationId = partner?.id ?? null;
      const person = await createTestUser(app, { organizationId, role: partner ? "owner" : "operator" });
      const from = await signInUser(app, person);
      const [{ pending }] = (await app.database.query<{ pending: number }>(sql`
      select count(*)::int as pending from invitation
      where organization_id is not distinct from ${organizationId}::uuid`)) as [{ pending: number }];
      await app.database.query(sql`
      insert into invitation (id, organization_id, email, role, invited_by, invited_at)
      select gen_random_uuid(), ${organizationId}::uuid, ${newEmail()} || number, ${partner ? "dispatcher" : "operator"}, ${person.email}, now()
      from generate_series(1, ${98 - pending}::int) number`);
      const results = await Promise.all(
        Array.from({ length: 6 }, () => invite(from, newEmail(), partner ? "DISPATCHER" : "OPERATOR")),
      );
      expect(results.filter(({ invitation }) => invitation !== null)).toHaveLength(2);
      expect(results.find(({ invitation }) => invitation === null)).toMatchObject({
        userErrors: [{ code: "LIMIT_EXCEEDED" }],
      });
      await app.database.query(sql`delete from invitation where invited_by = ${person.email}`);
    },
  );

  it("reject a member, an invited e-mail address, and an invalid one", async () => {
    const email = newEmail();
    await invite(owner, email);
    const conflict = { invitation: null, userErrors: [{ code: "CONFLICT", field: "input.email" }] };
    expect(await invite(owner, email)).toMatchObject(conflict);
    expect(await invite(owner, owner.email)).toMatchObject(conflict);
    for (const wrong of [
      "unknown",
      "a@b\r\nBcc: c@test.example",
      "a@test.example, b@test.example",
      "\0@test.example",
    ])
      expect(await invite(owner, wrong)).toMatchObject({
        invitation: null,
        userErrors: [{ code: "INVALID", field: "input.email" }],
      });
  });

  it("do not reveal that an e-mail address has an account elsewhere, but mail its owner", async () => {
    const known = await invite(owner, otherMember.email);
    const unknown = await invite(owner, newEmail());
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
    const { invitations } = await owner.queryData(`{ invitations { email } }`);
    expect(invitations).toContainEqual({ email: otherMember.email });
  });

  it("are mailed even after the e-mail address has reached its limit of password reset mails", async () => {
    const person = await member(other.id);
    for (let index = 0; index < 3; index += 1)
      expect((await post("/auth/password/forgotten", { email: person.email })).status).toBe(202);
    await eventually(async () => expect(await listMailsTo(app, person.email)).toHaveLength(3));
    expect((await invite(owner, person.email)).userErrors).toEqual([]);
  });

  it("are not limited by another organisation's invitations to the same e-mail address", async () => {
    const email = newEmail();
    const { invitation } = await invite(owner, email);
    for (let sent = 0; sent < 2; sent += 1) await owner.queryData(RESEND, { id: invitation.id });
    expect((await invite(otherOwner, email)).userErrors).toEqual([]);
  });

  it("can come from two organisations; the first to be accepted wins", async () => {
    const email = newEmail();
    await invite(owner, email);
    const first = extractLinkToken(await waitForMail(app, email, "invitation"), "invitation");
    await invite(otherOwner, email);
    const second = (await listMailsTo(app, email)).map((mail) =>
      extractLinkToken(mail, "invitation"),
    )[1] as string;
    const answers = await Promise.all([accept(first), accept(second)]);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
  });

  it("by operators create operators", async () => {
    const operator = await signInUser(app, await member(null, "operator"));
    const email = newEmail();
    expect(await invite(operator, email)).toMatchObject({
      userErrors: [{ code: "INVALID", field: "input.role" }],
    });
    expect((await invite(operator, email, "OPERATOR")).userErrors).toEqual([]);
    expect((await invite(operator, email, "OPERATOR")).userErrors).toMatchObject([{ code: "CONFLICT" }]);
    const token = extractLinkToken(await waitForMail(app, email, "invitation"), "invitation");
    expectData(await accept(token));
    const session = expectData(
      await (await signIn(app, { email, password: VALID_PASSWORD })).get("/auth/session"),
    );
    expect(session).toMatchObject({ user: { role: "operator" }, organization: null });
  });

  it("of one organisation are limited in total", async () => {
    const { id } = await app.createOrganization("agent");
    const theirs = await signInUser(app, await member(id, "owner"));
    for (let index = 0; index < 149; index += 1) await app.accounts.throttle.take(["invitation-group", id]);
    expect((await invite(theirs, newEmail())).userErrors).toEqual([]);
    const { errors } = await theirs.graphql(INVITE, { email: newEmail() });
    expect(errors?.[0]?.extensions.code).toBe("RATE_LIMITED");
  });

  // evidence: invitation-mail-limit-per-recipient
  it("are limited per e-mail address", async () => {
    const email = newEmail();
    const { invitation } = await invite(owner, email);
    const codes: (string | undefined)[] = [];
    for (let sent = 0; sent < 4; sent += 1)
      codes.push((await owner.graphql(RESEND, { id: invitation.id })).errors?.[0]?.extensions.code);
    expect(codes).toEqual([undefined, undefined, "RATE_LIMITED", "RATE_LIMITED"]);
    expect(await listMailsTo(app, email)).toHaveLength(3);
  });
});

describe("members", () => {
  it("are visible only to the users and keys of their organisation", async () => {
    const mine = await ownMember.queryData(
      `{ members { id name email role hasTwoFactor lastSeenAt createdAt } }`,
    );
    const emails = mine.members.map(({ email }: { email: string }) => email);
    expect(emails).toContain(owner.email);
    expect(emails).not.toContain(otherMember.email);
    const byKey = await queryData(app, `{ members { id } }`, { key: other.key });
    expect(byKey.members.map(({ id }: { id: string }) => id)).toContain(userId(otherMember));
    const found = await owner.queryData(`query ($id: ID!) { node(id: $id) { id } }`, {
      id: userId(otherMember),
    });
    expect(found.node).toBeNull();
  });

  // evidence: members-hidden-from-job-keys
  it("are not visible to a key with job scopes only", async () => {
    const { key } = await app.createOrganization("agent", { scopes: ["jobs:read", "jobs:write"] });
    const { errors } = await graphql(app, "{ members { email } }", { key });
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
    const operator = await signInUser(app, person);
    const { members } = await operator.queryData(`{ members { id role } }`);
    expect(members).toContainEqual({ id: userId(person), role: "OPERATOR" });
    expect(new Set(members.map(({ role }: { role: string }) => role))).toEqual(new Set(["OPERATOR"]));
  });

  it("have what their new role may do from the next request of an open session, and the audit log names both roles", async () => {
    const person = await member();
    const session = await signInUser(app, person);
    const id = userId(person);
    const scopes = {
      OWNER: ["jobs:read", "jobs:write", "webhooks:manage", "keys:manage"],
      DEVELOPER: ["jobs:read", "webhooks:manage", "keys:manage"],
      VIEWER: ["jobs:read"],
      DISPATCHER: ["jobs:read", "jobs:write"],
    };
    const refusal = async (query: string) => (await session.graphql(query)).errors?.[0]?.extensions.code;
    for (const [role, expected] of Object.entries(scopes)) {
      expect(await setRole(owner, id, role)).toEqual({ member: { id, role }, userErrors: [] });
      expect(expectData(await session.client.get("/auth/session")).scopes).toEqual(expected);
      expect(await refusal("{ webhookEndpoints { id } }")).toBe(
        expected.includes("webhooks:manage") ? undefined : "FORBIDDEN",
      );
    }
    const { auditLog } = await owner.queryData(
      '{ auditLog(actions: ["member.role_changed"]) { nodes { subject details } } }',
    );
    const changes = auditLog.nodes.filter(({ subject }: { subject: string }) => subject === id);
    expect(changes.map(({ details }: { details: object }) => details)).toEqual([
      { email: person.email, from: "viewer", to: "dispatcher" },
      { email: person.email, from: "developer", to: "viewer" },
      { email: person.email, from: "owner", to: "developer" },
      { email: person.email, from: "dispatcher", to: "owner" },
    ]);
  });

  it("become dispatchers by the deprecated name of the role", async () => {
    const person = await member(agent.id, "viewer");
    expect((await setRole(owner, userId(person), "MEMBER")).member).toMatchObject({ role: "DISPATCHER" });
    expect((await invite(owner, newEmail(), "MEMBER")).invitation).toMatchObject({ role: "DISPATCHER" });
  });

  it.each(["DEVELOPER", "VIEWER"])("join with the role of their invitation: %s", async (role) => {
    const email = newEmail();
    expect((await invite(owner, email, role)).invitation).toMatchObject({ role });
    expectData(await accept(extractLinkToken(await waitForMail(app, email, "invitation"), "invitation")));
    const { members } = await owner.queryData(`{ members { email role } }`);
    expect(members).toContainEqual({ email, role });
  });

  // evidence: member-removal-ends-sessions
  it("lose their sessions immediately when removed", async () => {
    const person = await member();
    const theirs = await signInUser(app, person);
    expectData(await theirs.client.get("/auth/session"));
    expect(await remove(owner, userId(person))).toEqual({ id: userId(person), userErrors: [] });
    expectFailure(await theirs.client.get("/auth/session"), 401);
    const asked = await theirs.graphql(`{ members { id } }`);
    expect(asked.status).toBe(401);
    expectFailure(
      await createSessionClient(app).post("/auth/sign-in/email", {
        email: person.email,
        password: VALID_PASSWORD,
      }),
      401,
    );
    expect(await remove(owner, userId(person))).toMatchObject({
      id: null,
      userErrors: [{ code: "NOT_FOUND" }],
    });
  });

  it("of another organisation return NOT_FOUND", async () => {
    for (const id of [userId(otherMember), "usr_00000000000000000000000000", "nothing", "org_x"]) {
      const expected = {
        userErrors: [{ code: "NOT_FOUND", field: "id", message: "There is no such member" }],
      };
      expect(await remove(owner, id)).toMatchObject(expected);
      expect(await setRole(owner, id, "OWNER")).toMatchObject(expected);
    }
    const operator = await member(null, "operator");
    expect(await remove(owner, userId(operator))).toMatchObject({ userErrors: [{ code: "NOT_FOUND" }] });
  });

  it("cannot become operators, nor operators members", async () => {
    const person = await member();
    expect(await setRole(owner, userId(person), "OPERATOR")).toMatchObject({
      member: null,
      userErrors: [{ code: "INVALID", field: "role" }],
    });
    expect(await invite(owner, newEmail(), "OPERATOR")).toMatchObject({
      invitation: null,
      userErrors: [{ code: "INVALID", field: "input.role" }],
    });
  });
});

describe("the last owner", () => {
  it("cannot leave, be removed or get another role", async () => {
    const { id } = await app.createOrganization("agent");
    const person = await member(id, "owner");
    const theirs = await signInUser(app, person);
    await member(id, "developer");
    expect(await remove(theirs, userId(person))).toMatchObject({
      id: null,
      userErrors: [{ code: "CONFLICT" }],
    });
    for (const role of ["DEVELOPER", "DISPATCHER", "VIEWER"])
      expect(await setRole(theirs, userId(person), role)).toMatchObject({
        userErrors: [{ code: "CONFLICT" }],
      });
    expect((await setRole(theirs, userId(person), "OWNER")).userErrors).toEqual([]);
    expect(await ownersOf(id)).toBe(1);
  });

  it.each<[string, (browsers: readonly SignedInTestUser[], ids: readonly string[]) => Promise<unknown>[]]>([
    [
      "remove each other",
      ([one, two], [first, second]) => [
        one!.graphql(REMOVE, { id: second }),
        two!.graphql(REMOVE, { id: first }),
      ],
    ],
    [
      "step down",
      (browsers, ids) => browsers.map((from, index) => setRole(from, ids[index] ?? "", "DISPATCHER")),
    ],
  ])("remains when two owners %s concurrently", async (_what, act) => {
    for (let round = 0; round < 5; round += 1) {
      const { organizationId, people, browsers } = await twoOwners();
      await Promise.all(act(browsers, people.map(userId)));
      expect(await ownersOf(organizationId)).toBe(1);
    }
  });
});
