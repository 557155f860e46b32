import { buildSchema, extendSchema, findBreakingChanges, GraphQLSchema, parse } from "graphql";
import { beforeAll, describe, expect, it } from "vitest";
import { scopes } from "../../src/api-keys/api.ts";
import { isAllowed } from "../../src/operations/admit.ts";
import { operations, rootAccess } from "../../src/operations/all.ts";
import { type AccessSubject, anyone, type ReadAccess } from "../../src/operations/operation.ts";
import { readSdl } from "../../src/api/graphql/sdl.ts";
import { startTestApp } from "../support/app/app.fixture.ts";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";

const PARTNER = "/graphql/schema.graphql";
const OPERATOR = "/graphql/schema.operator.graphql";

let app: SharedApp;
let partner: GraphQLSchema;
let operator: string;
beforeAll(async () => {
  app = await sharedApp();
  partner = buildSchema((await app.request(PARTNER)).text);
  operator = (await app.request(OPERATOR)).text;
});

/** A partner's key with all scopes. */
const key: AccessSubject = {
  organizationId: "any",
  organizationType: "agent",
  actor: { type: "key", id: "any" },
  keyId: "any",
  scopes,
};

const fieldsOf = (schema: GraphQLSchema) =>
  [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()].flatMap((type) =>
    Object.keys(type?.getFields() ?? {}),
  );

const typesOf = (schema: GraphQLSchema) => Object.keys(schema.getTypeMap()).toSorted();

describe("the SDL", () => {
  it("is text that needs no key, in production too", async () => {
    await using production = await startTestApp({
      NODE_ENV: "production",
      PUBLIC_URL: "https://api.example.com",
    });
    for (const path of [PARTNER, OPERATOR]) {
      const response = await production.request(path);
      expect(response.status).toBe(200);
      expect(response.get("content-type")).toBe("text/plain; charset=utf-8");
    }
  });

  it("returns 405 for POST and 404 for other names", async () => {
    const post = await app.request(PARTNER, { method: "POST" });
    expect([post.status, post.get("allow")]).toEqual([405, "GET, HEAD"]);
    expect((await app.request("/graphql/schema.json")).status).toBe(404);
  });

  it("is in both parts together exactly the schema", () => {
    const whole = extendSchema(partner, parse(operator));
    const served = buildSchema(readSdl());
    expect(findBreakingChanges(served, whole)).toEqual([]);
    expect(findBreakingChanges(whole, served)).toEqual([]);
    expect(typesOf(whole)).toEqual(typesOf(served));
  });

  it("has for partners what a key can use, with its descriptions, and only the types of that", () => {
    const mutations = operations.map(
      ({ name, graphql, access }) => [graphql?.field ?? name, access] as const,
    );
    const access = new Map<string, ReadAccess>([...mutations, ...Object.entries(rootAccess)]);
    const allowed = fieldsOf(extendSchema(partner, parse(operator))).filter((field) =>
      isAllowed(access.get(field) ?? anyone, key),
    );
    expect(fieldsOf(partner).toSorted()).toEqual(allowed.toSorted());
    expect(partner.getQueryType()?.getFields()["jobs"]?.description).toMatch(/visible to you/);
    const reachable = new GraphQLSchema({
      query: partner.getQueryType(),
      mutation: partner.getMutationType(),
      subscription: partner.getSubscriptionType(),
    });
    expect(typesOf(partner)).toEqual(typesOf(reachable));
  });
});
