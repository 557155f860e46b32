/** People who ask GraphQL from a page of the console. */
import type { UserRole } from "../../../src/organizations/user.entity.ts";
import { createTestUser, signIn, type SessionClient, type TestUser } from "./session-client.ts";
import { queryData, graphql, type GraphqlResponse } from "../graphql/client.ts";
import type { TestApp } from "../app/app.fixture.ts";

export interface SignedInTestUser extends TestUser {
  client: SessionClient;
  /** As a page of our own sends them. */
  headers: Record<string, string>;
  graphql(query: string, variables?: Record<string, unknown>): Promise<GraphqlResponse>;
  /** The data of an answer without errors. */
  queryData(query: string, variables?: Record<string, unknown>): Promise<GraphqlResponse["data"]>;
}

/** A new person who has signed in: an operator where `organizationId` (a uuid) is null. */
export async function createSignedInUser(
  app: TestApp,
  organizationId: string | null,
  role: UserRole = organizationId === null ? "operator" : "owner",
): Promise<SignedInTestUser> {
  return await signInUser(app, await createTestUser(app, { organizationId, role }));
}

/** The person in one more browser. */
export async function signInUser(app: TestApp, person: TestUser): Promise<SignedInTestUser> {
  const client = await signIn(app, person);
  const headers = { cookie: client.cookie, origin: app.url };
  return {
    ...person,
    client,
    headers,
    graphql: (query, variables) => graphql(app, query, { headers, ...(variables && { variables }) }),
    queryData: (query, variables) => queryData(app, query, { headers, ...(variables && { variables }) }),
  };
}
