/** Two organisations with owners and members who are signed in, for tests of members and invitations. */
import { randomBytes } from "node:crypto";
import type { UserRole } from "../../../src/organizations/user.entity.ts";
import type { TestOrganization } from "../app/app.fixture.ts";
import { sharedApp, type SharedApp } from "../app/shared-app.ts";
import { graphql, queryData } from "../graphql/client.ts";
import { createTestUser, signIn, type SessionClient, type TestUser } from "./session-client.ts";

export const INVITE = `mutation ($email: String!, $role: MemberRole! = MEMBER) {
  inviteMember(input: { email: $email, role: $role }) {
    invitation { id email role invitedBy invitedAt expiresAt } userErrors { code field message } } }`;

export interface MembersFixture {
  readonly app: SharedApp;
  readonly agent: TestOrganization;
  readonly other: TestOrganization;
  /** The owner of `agent`. */
  readonly owner: TestUser;
  readonly otherMember: TestUser;
  /** The owner's session. */
  readonly browser: SessionClient;
  readonly memberBrowser: SessionClient;
  /** The session of the owner of `other`. */
  readonly otherBrowser: SessionClient;
}

export async function openMembersFixture(): Promise<MembersFixture> {
  const app = await sharedApp("api");
  const agent = await app.createOrganization("agent");
  const other = await app.createOrganization("contractor");
  const user = (organization: TestOrganization, role: UserRole): Promise<TestUser> =>
    createTestUser(app, { organizationId: organization.id, role });
  const owner = await user(agent, "owner");
  return {
    app,
    agent,
    other,
    owner,
    otherMember: await user(other, "member"),
    browser: await signIn(app, owner),
    memberBrowser: await signIn(app, await user(agent, "member")),
    otherBrowser: await signIn(app, await user(other, "owner")),
  };
}

/** Sends a GraphQL request as the console does, and returns its data. Expects no errors. */
export function queryAs(app: SharedApp, from: SessionClient, query: string, variables: object = {}) {
  return queryData(app, query, { headers: headersOf(app, from), variables: { ...variables } });
}

/** Like `queryAs`, but returns the response, also with errors. */
export function graphqlAs(app: SharedApp, from: SessionClient, query: string, variables: object = {}) {
  return graphql(app, query, { headers: headersOf(app, from), variables: { ...variables } });
}

function headersOf(app: SharedApp, { cookie }: SessionClient): Record<string, string> {
  return { cookie, origin: app.url };
}

export const newEmail = (): string => `${randomBytes(6).toString("hex")}@test.example`;
