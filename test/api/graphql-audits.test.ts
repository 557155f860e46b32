import { serverAudits, type AuditResult } from "graphql-http";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startGraphqlFixture, type GraphqlFixture } from "../support/graphql/server.fixture.ts";

let rig: GraphqlFixture;
const results: AuditResult[] = [];

beforeAll(async () => {
  rig = await startGraphqlFixture({ typeDefs: "type Query { word: String }" });
  const key = await rig.newKey();
  const fetchFn = (url: string, init: RequestInit = {}): Promise<Response> => {
    const headers = new Headers(init.headers);
    headers.set("x-api-key", key);
    // GET requests need a header that pages of other origins cannot send.
    headers.set("apollo-require-preflight", "1");
    return fetch(url, { ...init, headers });
  };
  // Run one by one: all together would need more connections than a test server has.
  for (const audit of serverAudits({ url: `${rig.url}/graphql`, fetchFn })) results.push(await audit.fn());
});
afterAll(() => rig[Symbol.asyncDispose]());

const named = (status: AuditResult["status"]): string[] =>
  results.filter((result) => result.status === status).map(({ name }) => name);

it("GraphQL over HTTP: no audit fails with an error, and enough audits ran", () => {
  expect(named("error")).toEqual([]);
  expect(named("ok").length).toBeGreaterThan(50);
});

it("GraphQL over HTTP: Apollo deviates from exactly these recommendations", () => {
  expect(named("warn").toSorted()).toEqual([
    "SHOULD use 200 status code on document parsing failure when accepting application/json",
    "SHOULD use 200 status code on document validation failure when accepting application/json",
    "SHOULD use a status code of 200 on variable coercion failure when accepting application/json",
  ]);
});
