import { buildSchema, extendSchema, findBreakingChanges, parse, type GraphQLSchema } from "graphql";
import { beforeAll, describe, expect, it } from "vitest";
import { operations } from "../../src/operations/all.ts";
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

const fieldsOf = (schema: GraphQLSchema) =>
  [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()].flatMap((type) =>
    Object.keys(type?.getFields() ?? {}),
  );

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
    expect(Object.keys(whole.getTypeMap()).toSorted()).toEqual(Object.keys(served.getTypeMap()).toSorted());
  });

  it("has for partners what a key can use, with its descriptions, and no type of operators", () => {
    const fields = fieldsOf(partner);
    expect(fields).toEqual(expect.arrayContaining(["jobs", "node", "updateJobs", "jobChanged"]));
    expect(fields).not.toEqual(expect.arrayContaining(["auditLog"]));
    expect(fields).not.toEqual(expect.arrayContaining(["createJobs"]));
    expect(partner.getType("Mail")).toBeUndefined();
    expect(partner.getQueryType()?.getFields()["jobs"]?.description).toMatch(/visible to you/);
    const closed = new Set(operations.filter(({ access }) => access.role).map(({ name }) => name));
    expect(fields.filter((field) => closed.has(field))).toEqual([]);
    const rest = operations.filter((each) => "rest" in each && each.access.role === undefined);
    const mutations = Object.keys(partner.getMutationType()!.getFields());
    const all = Object.keys(buildSchema(readSdl()).getMutationType()!.getFields());
    const usable = rest
      .map(({ name, graphql }) => graphql?.field ?? name)
      .filter((name) => all.includes(name));
    expect(mutations).toEqual(expect.arrayContaining(usable));
  });
});
