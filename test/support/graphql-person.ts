/** People who ask GraphQL from a page of the console. */
import type { UserRole } from "../../src/accounts/user.entity.ts";
import { makePerson, signIn, type Browser, type Person } from "./account.ts";
import { ask, graphql, type GraphqlAnswer } from "./graphql.ts";
import type { TestApp } from "./start-app.ts";

export interface SignedIn extends Person {
  browser: Browser;
  /** As a page of our own sends them. */
  headers: Record<string, string>;
  graphql(query: string, variables?: Record<string, unknown>): Promise<GraphqlAnswer>;
  /** The data of an answer without errors. */
  ask(query: string, variables?: Record<string, unknown>): Promise<GraphqlAnswer["data"]>;
}

/** A new person who has signed in: an operator where `organizationId` (a uuid) is null. */
export async function newPerson(
  app: TestApp,
  organizationId: string | null,
  role: UserRole = organizationId === null ? "operator" : "owner",
): Promise<SignedIn> {
  return await signedIn(app, await makePerson(app, { organizationId, role }));
}

/** The person in one more browser. */
export async function signedIn(app: TestApp, person: Person): Promise<SignedIn> {
  const browser = await signIn(app, person);
  const headers = { cookie: browser.cookie, origin: app.url };
  return {
    ...person,
    browser,
    headers,
    graphql: (query, variables) => graphql(app, query, { headers, ...(variables && { variables }) }),
    ask: (query, variables) => ask(app, query, { headers, ...(variables && { variables }) }),
  };
}
