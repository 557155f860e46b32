/** Members and their invitations: permissions, links, limits, tenant isolation, and the last owner. */
import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { toTypedId } from "../../src/core/ids.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import * as accounts from "../support/accounts/accounts.fixture.ts";
import { extractLinkToken } from "../support/accounts/mails.ts";
import { createSignedInUser, signInUser, type SignedInTestUser } from "../support/accounts/signed-in-user.ts";
import { eventually } from "../support/eventually.ts";
import { queryData, graphql } from "../support/graphql/client.ts";

const { VALID_PASSWORD, expectData, expectFailure, listMailsTo, waitForMail } = accounts;
const { app, agent, newUser, post, signIn, trySignIn, isSignedIn } = await accounts.openAccounts();

const other = await app.createOrganization("contractor");
const owner = await createSignedInUser(app, agent.id);
const otherOwner = await createSignedInUser(app, other.id);
const otherMember = await createSignedInUser(app, other.id, "dispatcher");

type User = SignedInTestUser;
const userId = ({ id }: accounts.TestUser): string => toTypedId("usr", id);
const newEmail = (): string => `${randomBytes(6).toString("hex")}@test.example`;

const INVITE = `mutation ($email: String!, $role: MemberRole! = DISPATCHER) {
  inviteMember(input: { email: $email, role: $role }) {
    invitation { id email role invitedBy invitedAt expiresAt } userErrors { code field message } } }`;
const RESEND = `mutation ($id: ID!) { resendInvitation(id: $id) { invitation { id } userErrors { code field } } }`;
const REVOKE = `mutation ($id: ID!) { revokeInvitation(id: $id) { id userErrors { code field } } }`;
const REMOVE = `mutation ($id: ID!) { removeMember(id: $id) { id userErrors { code field message } } }`;
const SET_ROLE = `mutation ($id: ID!, $role: MemberRole!) {
  setMemberRole(id: $id, role: $role) { member { id role } userErrors { code field message } } }`;
const NODE = `query ($id: ID!) { node(id: $id) { id } }`;

const invite = async (from: User, email: string, role = "DISPATCHER") =>
  (await from.queryData(INVITE, { email, role })).inviteMember;
const resend = async (from: User, id: string) => (await from.queryData(RESEND, { id })).resendInvitation;
const revoke = async (from: User, id: string) => (await from.queryData(REVOKE, { id })).revokeInvitation;
const remove = async (from: User, id: string) => (await from.queryData(REMOVE, { id })).removeMember;
const setRole = async (from: User, id: string, role: string) =>
  (await from.queryData(SET_ROLE, { id, role })).setMemberRole;
const invitationsOf = async (from: User) =>
  (await from.queryData(`{ invitations { id email } }`)).invitations;
const membersOf = async (from: User) => (await from.queryData(`{ members { id email role } }`)).members;

const newestToken = async (email: string) =>
  extractLinkToken(await waitForMail(app, email, "invitation"), "invitation");
const accept = (token: string) =>
  post("/auth/links/accept", { token, name: "Someone", password: VALID_PASSWORD });

/** The payload of a mutation that failed with this error. */
const failure = (code: string, field?: string) => ({ userErrors: [{ code, ...(field && { field }) }] });

async function ownersOf(organizationId: string): Promise<number> {
  const owners = sql`select from user_account where organization_id = ${organizationId} and role = 'owner'`;
  return (await app.database.query(owners)).length;
}

describe("invitations", () => {
  it("are mailed, listed, and accepted with their role", async () => {
    const email = newEmail();
    const { invitation, userErrors } = await invite(owner, ` ${email.toUpperCase()} `, "OWNER");
    expect(userErrors).toEqual([]);
    expect(invitation).toMatchObject({ email, role: "OWNER", invitedBy: owner.email });
    const hours = (Date.parse(invitation.expiresAt) - Date.parse(invitation.invitedAt)) / 3_600_000;
    expect(hours).toBeCloseTo(72, 2);
    expect((await invitationsOf(owner))[0]).toEqual({ id: invitation.id, email });
    const { text } = await waitForMail(app, email, "invitation");
    for (const word of [agent.name, owner.email]) expect(text).toContain(word);
    expectData(await accept(await newestToken(email)));
    expect(await invitationsOf(owner)).not.toContainEqual({ id: invitation.id, email });
    expect(await membersOf(owner)).toContainEqual(expect.objectContaining({ email, role: "OWNER" }));
  });

  it("can be resent, which invalidates the previous link, and revoked, which invalidates every link", async () => {
    const email = newEmail();
    const { id } = (await invite(owner, email)).invitation;
    const first = await newestToken(email);
    expect(await resend(owner, id)).toEqual({ invitation: { id }, userErrors: [] });
    const second = await newestToken(email);
    expectFailure(await post("/auth/links/check", { token: first }), 404);
    expectData(await post("/auth/links/check", { token: second }));
    expect(await revoke(owner, id)).toEqual({ id, userErrors: [] });
    expectFailure(await post("/auth/links/check", { token: second }), 404);
    expect(await revoke(owner, id)).toMatchObject({ id: null, ...failure("NOT_FOUND", "id") });
  });

  // evidence: invitations-limit, invitations-limit-concurrent
  it.each(["an organisation", "the operators"])(
    "are limited to 100 pending per group, also when sent concurrently: %s",
    async (group) => {
      const partner = group === "an organisation" ? await app.createOrganization("agent") : null;
      const organizationId = partner?.id ?? null;
      const [from, role] = [
        await createSignedInUser(app, organizationId),
        partner ? "dispatcher" : "operator",
      ];
      await app.database.query(sql`
        insert into invitation (id, organization_id, email, role, invited_by, invited_at)
        select gen_random_uuid(), ${organizationId}::uuid, ${newEmail()} || number, ${role}, ${from.email}, now()
        from generate_series(1, 98 - (select count(*)::int from invitation
          where organization_id is not distinct from ${organizationId}::uuid)) number`);
      const results = await Promise.all(
        Array.from({ length: 6 }, () => invite(from, newEmail(), role.toUpperCase())),
      );
      expect(results.filter(({ invitation }) => invitation !== null)).toHaveLength(2);
      const refused = results.find(({ invitation }) => invitation === null);
      expect(refused).toMatchObject(failure("LIMIT_EXCEEDED"));
      await app.database.query(sql`delete from invitation where invited_by = ${from.email}`);
    },
  );

  it("reject a member, an invited e-mail address, and an invalid one", async () => {
    const email = newEmail();
    await invite(owner, email);
    for (const taken of [email, owner.email])
      expect(await invite(owner, taken)).toMatchObject(failure("CONFLICT", "input.email"));
    const lists = ["a@b\r\nBcc: c@test.example", "a@test.example, b@test.example"];
    for (const wrong of ["unknown", "\0@test.example", ...lists])
      expect(await invite(owner, wrong)).toMatchObject(failure("INVALID", "input.email"));
  });

  it("do not reveal that an e-mail address has an account elsewhere, but mail its owner", async () => {
    const { email } = otherMember;
    const shape = async (invited: string) => {
      const { invitation, userErrors } = await invite(owner, invited);
      return { keys: Object.keys(invitation), role: invitation.role, userErrors };
    };
    expect(await shape(email)).toEqual(await shape(newEmail()));
    const mails = await listMailsTo(app, email);
    expect(mails.map(({ kind }) => kind)).toEqual(["invitation_elsewhere"]);
    expect(mails[0]?.text).not.toContain("token=");
    expect(await invitationsOf(owner)).toContainEqual(expect.objectContaining({ email }));
  });

  it("are mailed even after the e-mail address has reached its limit of password reset mails", async () => {
    const { email } = await newUser("dispatcher", other.id);
    for (let sent = 0; sent < 3; sent += 1)
      expect((await post("/auth/password/forgotten", { email })).status).toBe(202);
    await eventually(async () => expect(await listMailsTo(app, email)).toHaveLength(3));
    expect((await invite(owner, email)).userErrors).toEqual([]);
  });

  it("can come from two organisations; the first to be accepted wins", async () => {
    const email = newEmail();
    await invite(owner, email);
    const first = await newestToken(email);
    await invite(otherOwner, email);
    const second = extractLinkToken((await listMailsTo(app, email))[1]!, "invitation");
    const answers = await Promise.all([accept(first), accept(second)]);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
  });

  it("by operators create operators", async () => {
    const [operator, email] = [await createSignedInUser(app, null), newEmail()];
    expect(await invite(operator, email)).toMatchObject(failure("INVALID", "input.role"));
    expect((await invite(operator, email, "OPERATOR")).userErrors).toEqual([]);
    expect(await invite(operator, email, "OPERATOR")).toMatchObject(failure("CONFLICT"));
    expectData(await accept(await newestToken(email)));
    const browser = await signIn({ email, password: VALID_PASSWORD });
    const session = expectData(await browser.get("/auth/session"));
    expect(session).toMatchObject({ user: { role: "operator" }, organization: null });
  });

  it("of one organisation are limited in total", async () => {
    const { id } = await app.createOrganization("agent");
    const theirs = await createSignedInUser(app, id);
    for (let index = 0; index < 149; index += 1) await app.accounts.throttle.take(["invitation-group", id]);
    expect((await invite(theirs, newEmail())).userErrors).toEqual([]);
    const { errors } = await theirs.graphql(INVITE, { email: newEmail() });
    expect(errors?.[0]?.extensions.code).toBe("RATE_LIMITED");
  });

  // evidence: invitation-mail-limit-per-recipient
  it("are limited per e-mail address, but not by another organisation's", async () => {
    const email = newEmail();
    const { id } = (await invite(owner, email)).invitation;
    const codes: (string | undefined)[] = [];
    for (let sent = 0; sent < 4; sent += 1)
      codes.push((await owner.graphql(RESEND, { id })).errors?.[0]?.extensions.code);
    expect(codes).toEqual([undefined, undefined, "RATE_LIMITED", "RATE_LIMITED"]);
    expect(await listMailsTo(app, email)).toHaveLength(3);
    expect((await invite(otherOwner, email)).userErrors).toEqual([]);
  });
});

describe("members", () => {
  // evidence: members-hidden-from-job-keys
  it("are not visible to a key with job scopes only", async () => {
    const key = await app.createKey(other.id, { scopes: ["jobs:read", "jobs:write"] });
    const { errors } = await graphql(app, "{ members { email } }", { key });
    expect(errors?.[0]?.extensions).toMatchObject({ code: "FORBIDDEN" });
    const variables = { id: userId(otherMember) };
    expect((await queryData(app, NODE, { key, variables })).node).toBeNull();
    expect((await queryData(app, NODE, { key: other.key, variables })).node).toEqual(variables);
  });

  it("are the operators, for an operator", async () => {
    const operator = await createSignedInUser(app, null);
    const members: { email: string; role: string }[] = await membersOf(operator);
    expect(members.map(({ email }) => email)).toContain(operator.email);
    expect(new Set(members.map(({ role }) => role))).toEqual(new Set(["OPERATOR"]));
  });

  it("have what their new role may do from the next request of an open session, and the audit log names both roles", async () => {
    const session = await createSignedInUser(app, agent.id, "dispatcher");
    const id = userId(session);
    for (const [role, code] of [
      ["DEVELOPER", undefined],
      ["VIEWER", "FORBIDDEN"],
    ] as const) {
      expect(await setRole(owner, id, role)).toEqual({ member: { id, role }, userErrors: [] });
      const { errors } = await session.graphql("{ webhookEndpoints { id } }");
      expect(errors?.[0]?.extensions.code).toBe(code);
    }
    const { auditLog } = await owner.queryData(
      '{ auditLog(actions: ["member.role_changed"]) { nodes { subject details } } }',
    );
    const nodes: { subject: string; details: object }[] = auditLog.nodes;
    const { email } = session;
    expect(nodes.filter(({ subject }) => subject === id).map(({ details }) => details)).toEqual([
      { email, from: "developer", to: "viewer" },
      { email, from: "dispatcher", to: "developer" },
    ]);
  });

  it("become dispatchers by the deprecated name of the role", async () => {
    const id = userId(await newUser("viewer"));
    expect((await setRole(owner, id, "MEMBER")).member).toMatchObject({ role: "DISPATCHER" });
    expect((await invite(owner, newEmail(), "MEMBER")).invitation).toMatchObject({ role: "DISPATCHER" });
  });

  // evidence: member-removal-ends-sessions
  it("lose their sessions immediately when removed", async () => {
    const theirs = await createSignedInUser(app, agent.id, "dispatcher");
    const id = userId(theirs);
    expect(await isSignedIn(theirs.client)).toBe(true);
    expect(await remove(owner, id)).toEqual({ id, userErrors: [] });
    expect(await isSignedIn(theirs.client)).toBe(false);
    expect((await theirs.graphql(`{ members { id } }`)).status).toBe(401);
    expectFailure(await trySignIn(theirs), 401);
    expect(await remove(owner, id)).toMatchObject({ id: null, ...failure("NOT_FOUND") });
  });

  it("and invitations of another organisation return NOT_FOUND", async () => {
    const invitation = (await invite(otherOwner, newEmail())).invitation.id;
    const operator = userId(await newUser("operator", null));
    const notFound = { userErrors: [expect.objectContaining({ code: "NOT_FOUND", field: "id" })] };
    for (const id of [userId(otherMember), operator, "usr_00000000000000000000000000", "nothing", invitation])
      for (const answer of [await remove(owner, id), await setRole(owner, id, "OWNER")])
        expect(answer).toMatchObject(notFound);
    for (const id of [invitation, "inv_00000000000000000000000000", "nothing", userId(otherMember)])
      for (const answer of [await resend(owner, id), await revoke(owner, id)])
        expect(answer).toMatchObject(notFound);
  });

  it("cannot become operators, nor operators members", async () => {
    const id = userId(await newUser());
    expect(await setRole(owner, id, "OPERATOR")).toMatchObject(failure("INVALID", "role"));
    expect(await invite(owner, newEmail(), "OPERATOR")).toMatchObject(failure("INVALID", "input.role"));
  });
});

describe("the last owner", () => {
  it("cannot leave, be removed or get another role", async () => {
    const { id } = await app.createOrganization("agent");
    const theirs = await createSignedInUser(app, id);
    await newUser("developer", id);
    expect(await remove(theirs, userId(theirs))).toMatchObject({ id: null, ...failure("CONFLICT") });
    for (const role of ["DEVELOPER", "DISPATCHER", "VIEWER"])
      expect(await setRole(theirs, userId(theirs), role)).toMatchObject(failure("CONFLICT"));
    expect((await setRole(theirs, userId(theirs), "OWNER")).userErrors).toEqual([]);
    expect(await ownersOf(id)).toBe(1);
  });

  it.each<[string, (from: User, colleague: User) => Promise<unknown>]>([
    ["remove each other", (from, colleague) => from.graphql(REMOVE, { id: userId(colleague) })],
    ["step down", (from) => setRole(from, userId(from), "DISPATCHER")],
  ])("remains when two owners %s concurrently", async (_what, act) => {
    for (let round = 0; round < 5; round += 1) {
      const { id } = await app.createOrganization("agent");
      const owners = [await newUser("owner", id), await newUser("owner", id)] as const;
      const [one, two] = [await signInUser(app, owners[0]), await signInUser(app, owners[1])];
      await Promise.all([act(one, two), act(two, one)]);
      expect(await ownersOf(id)).toBe(1);
    }
  });
});
