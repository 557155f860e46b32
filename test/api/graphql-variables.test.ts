/** Invalid variables: each error names the variable and the problem. */
import { beforeAll, describe, expect, it } from "vitest";
import { openAuthenticatedWebSocket } from "../support/graphql/subscription-client.ts";
import { graphql } from "../support/graphql/client.ts";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";

let app: SharedApp;
let key: string;

beforeAll(async () => {
  app = await sharedApp("api");
  ({ key } = await app.createOrganization("agent"));
});

const query = `query ($filter: JobFilter, $number: String!, $day: LocalDate = "2026-11-24") {
  jobs(filter: $filter) { nodes { id } }
  job(markingNumber: $number) { id }
  jobStats(filter: { scheduledDate: { eq: $day } }) { total }
}`;

describe("invalid variables", () => {
  it.each([
    ["an invalid value", { number: "x", day: "2026-13-40" }, ["variables.day", "invalid_value"]],
    ["a missing value", {}, ["variables.number", "required"]],
    ["null for a required value", { number: null }, ["variables.number", "required"]],
    ["a value of another type", { number: 7 }, ["variables.number", "invalid_value"]],
    [
      "an invalid value inside an input",
      { number: "x", filter: { or: [{ createdAt: { gte: "soon" } }] } },
      ["variables.filter.or.0.createdAt.gte", "invalid_value"],
    ],
    ["an unknown member", { number: "x", filter: { colour: 1 } }, ["variables.filter", "invalid_value"]],
  ])("return the problem: %s", async (_, variables, [field, code]) => {
    const { status, errors } = await graphql(app, query, { key, variables });
    expect(status).toBe(400);
    expect(errors).toEqual([
      {
        message: expect.stringMatching(/^Variable "\$\w+" /) as string,
        locations: expect.any(Array) as unknown[],
        extensions: {
          code: "BAD_USER_INPUT",
          requestId: expect.stringMatching(/^req_/) as string,
          docUrl: `${app.url}/guide/errors#bad_user_input`,
          problems: [{ field, code, message: expect.stringMatching(/\w/) as string }],
        },
      },
    ]);
  });

  it("return one error per problem", async () => {
    const { errors } = await graphql(app, query, { key, variables: { number: 1, day: "never" } });
    expect(errors?.map(({ extensions }) => extensions.problems?.map(({ field }) => field))).toEqual([
      ["variables.number"],
      ["variables.day"],
    ]);
  });

  // evidence: graphql-undeclared-variables
  it("that the operation does not declare are refused before their values are read, at most 20 by name", async () => {
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`k${index}`, [[]]]));
    for (const [variables, count] of [
      [{ number: "x", nummer: "y" }, 1],
      [many, 20],
    ] as const) {
      const { status, errors } = await graphql(app, query, { key, variables });
      expect(status).toBe(400);
      expect(errors).toHaveLength(1);
      expect(errors?.[0]?.extensions.code).toBe("BAD_USER_INPUT");
      expect(errors?.[0]?.extensions.problems).toHaveLength(count);
    }
    const { errors } = await graphql(app, query, { key, variables: { number: "x", nummer: "y" } });
    expect(errors?.[0]?.message).toBe("variables.nummer is not declared; did you mean $number?");
  });

  it("with thousands of lists and objects are refused without walking them all", async () => {
    const filter = { or: Array.from({ length: 3_000 }, () => ({})) };
    const { status, errors } = await graphql(app, query, { key, variables: { number: "x", filter } });
    expect(status).toBe(400);
    expect(errors?.[0]?.message).toBe("variables.filter must not have more than 2000 lists and objects");
  });

  it("are named without their values, which can be large or secret, at most 20", async () => {
    const number = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`k${index}`, "s3cret"]));
    const filter = { markingNumber: number };
    const { status, errors } = await graphql(app, query, { key, variables: { number: "x", filter } });
    expect(status).toBe(400);
    expect(errors).toHaveLength(20);
    expect(errors?.[0]?.message).toBe(
      'Variable "$filter" is invalid at filter.markingNumber: Field "k0" is not defined by type "StringFilter".',
    );
    expect(JSON.stringify(errors)).not.toContain("s3cret");
    const tooLong = await graphql(app, query, { key, variables: { number: "x", day: "9".repeat(9_999) } });
    expect(JSON.stringify(tooLong.errors).length).toBeLessThan(1_500);
  });

  it("and invalid fields return at most 20 errors, and say that there are more", async () => {
    const fields = Array.from({ length: 50 }, (_, index) => `unknown${index}`).join(" ");
    const { status, errors } = await graphql(app, `{ ${fields} }`, { key });
    expect(status).toBe(400);
    expect(errors).toHaveLength(21);
    expect(errors?.at(-1)?.message).toContain("Too many validation errors");
  });

  it("of a subscription return the same errors", async () => {
    const socket = await openAuthenticatedWebSocket(app, key);
    const subscription = "subscription ($types: [JobEventType!]) { jobChanged(types: $types) { id } }";
    socket.send({
      type: "subscribe",
      id: "1",
      payload: { query: subscription, variables: { types: ["NONE"] } },
    });
    expect(await socket.waitForMessage("error")).toMatchObject({
      payload: [{ extensions: { code: "BAD_USER_INPUT", problems: [{ field: "variables.types.0" }] } }],
    });
  });
});
