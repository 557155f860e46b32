/** Signed-in users who send GraphQL requests like the console does. */
import { randomBytes } from "node:crypto";
import type { UserRole } from "../../../src/organizations/user.entity.ts";
import { createTestUser, signIn, type SessionClient, type TestUser } from "./session-client.ts";
import { extractLinkToken, waitForMail } from "./mails.ts";
import { queryData, graphql, type GraphqlResponse } from "../graphql/client.ts";
import type { AppInstance } from "../app/app-instance.ts";

type SignInApp = Pick<AppInstance, "call" | "database" | "url">;

export interface SignedInTestUser extends TestUser {
  client: SessionClient;
  /** The session cookie and the app's origin. */
  headers: Record<string, string>;
  graphql(query: string, variables?: Record<string, unknown>): Promise<GraphqlResponse>;
  /** Returns the data of a response and expects no errors. */
  queryData(query: string, variables?: Record<string, unknown>): Promise<GraphqlResponse["data"]>;
}

/** Creates a user of an organisation (a UUID), or an operator if `organizationId` is null, and signs them in. */
export async function createSignedInUser(
  app: SignInApp,
  organizationId: string | null,
  role: UserRole = organizationId === null ? "operator" : "owner",
): Promise<SignedInTestUser> {
  return await signInUser(app, await createTestUser(app, { organizationId, role }));
}

/** Signs the user in with a new client. */
export async function signInUser(app: SignInApp, user: TestUser): Promise<SignedInTestUser> {
  const client = await signIn(app, user);
  const headers = { cookie: client.cookie, origin: app.url };
  return {
    ...user,
    client,
    headers,
    graphql: (query, variables) => graphql(app, query, { headers, ...(variables && { variables }) }),
    queryData: (query, variables) => queryData(app, query, { headers, ...(variables && { variables }) }),
  };
}

const INVITE = `mutation ($email: String!, $role: MemberRole!) {
  inviteMember(input: { email: $email, role: $role }) { invitation { id } } }`;

/** Invites an e-mail address, by default a new one, and returns it with the token of the mailed link. */
export async function inviteMember(
  app: Pick<AppInstance, "database">,
  by: SignedInTestUser,
  { email = `${randomBytes(6).toString("hex")}@test.example`, role = "DISPATCHER" } = {},
): Promise<{ id: string; email: string; token: string }> {
  const { invitation } = (await by.queryData(INVITE, { email, role })).inviteMember;
  const token = extractLinkToken(await waitForMail(app, email, "invitation"), "invitation");
  return { id: invitation.id, email, token };
}
