/** Members: permissions, tenant isolation, and the last owner. */
import { beforeAll, describe, expect, it } from "vitest";
import type { UserRole } from "../../src/organizations/user.entity.ts";
import { toTypedId } from "../../src/core/ids.ts";
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
  graphqlAs,
  INVITE,
  newEmail,
  openMembersFixture,
  queryAs,
  type MembersFixture,
} from "../support/accounts/members.fixture.ts";
import { expectData, expectFailure } from "../support/app/assertions.ts";
import { queryData, graphql } from "../support/graphql/client.ts";

let app: MembersFixture["app"];
let agent: MembersFixture["agent"];
let other: MembersFixture["other"];
let owner: MembersFixture["owner"];
let otherMember: MembersFixture["otherMember"];
let browser: MembersFixture["browser"];
let memberBrowser: MembersFixture["memberBrowser"];

beforeAll(async () => {
  ({ app, agent, other, owner, otherMember, browser, memberBrowser } = await openMembersFixture());
});

const as = (from: SessionClient, query: string, variables?: object) => queryAs(app, from, query, variables);
const tryAs = (from: SessionClient, query: string, variables?: object) =>
  graphqlAs(app, from, query, variables);

const userId = ({ id }: TestUser): string => toTypedId("usr", id);
const member = (organizationId: string | null = agent.id, role: UserRole = "member"): Promise<TestUser> =>
  createTestUser(app, { organizationId, role });

const REMOVE = `mutation ($id: ID!) { removeMember(id: $id) { id userErrors { code field message } } }`;
const SET_ROLE = `mutation ($id: ID!, $role: MemberRole!) {
  setMemberRole(id: $id, role: $role) { member { id role } userErrors { code field message } } }`;

const remove = async (from: SessionClient, id: string) => (await as(from, REMOVE, { id })).removeMember;
const setRole = async (from: SessionClient, id: string, role: string) =>
  (await as(from, SET_ROLE, { id, role })).setMemberRole;

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

const invite = async (from: SessionClient, email: string, role = "MEMBER") =>
  (await as(from, INVITE, { email, role })).inviteMember;

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

  it("show their invitations to owners only", async () => {
    const invitations = "{ invitations { id } }";
    for (const response of [
      await tryAs(memberBrowser, invitations, {}),
      await graphql(app, invitations, { key: agent.key }),
    ])
      expect(response.errors?.[0]?.extensions.code).toBe("FORBIDDEN");
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
