import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AppError, badRequest, unavailable } from "../../src/core/errors.ts";
import { raw, sql } from "../../src/core/postgres/sql.ts";
import {
  startGraphqlFixture,
  type GraphqlFixture,
  type FixtureContext,
  type RawGraphqlResponse,
} from "../support/graphql/server.fixture.ts";
import { eventually } from "../support/eventually.ts";

const typeDefs = /* GraphQL */ `
  type Query {
    fails(how: String!): String
    word: String
    strict: Strict
    strictRoot: String!
    leaf: Color
  }
  type Strict {
    inner: String!
    word: String
  }
  enum Color {
    RED
  }
  type Mutation {
    fails(how: String!): String!
  }
`;

const SECRET = "Ann Onymous, 1 Hidden Lane";

const behaviours: Record<string, (context: FixtureContext) => unknown> = {
  problems: () => {
    throw badRequest([
      { location: "query", field: "filter.status", code: "unknown", message: "is no status" },
    ]);
  },
  unauthenticated: () => {
    throw new AppError("UnauthorizedException", "Who are you?", {
      headers: { "WWW-Authenticate": "Bearer" },
    });
  },
  forbidden: () => {
    throw new AppError("ForbiddenException", "The API key lacks the scope jobs:read");
  },
  tooMany: () => {
    throw new AppError("TooManyRequestsException", "Too many", { headers: { "Retry-After": "7" } });
  },
  overload: () => {
    throw unavailable("The server is overloaded. Try again shortly.", 1);
  },
  away: () => {
    throw Object.assign(new Error("connect ECONNREFUSED 10.1.2.3:5432"), {
      code: "ECONNREFUSED",
      syscall: "connect",
    });
  },
  slow: ({ database }) => database.query(sql`select pg_sleep(30)`),
  refusedSql: ({ database }) => database.query(raw(`select '${SECRET}'::int`)),
  crash: () => {
    throw new TypeError(`cannot read ${SECRET}`);
  },
  text: () => {
    // As a library might do.
    // oxlint-disable-next-line typescript/only-throw-error
    throw SECRET;
  },
  later: async () => {
    await delay(1);
    throw new Error(SECRET);
  },
};

const fails = (_: unknown, { how }: Record<string, unknown>, context: FixtureContext): unknown =>
  behaviours[String(how)]?.(context);

let rig: GraphqlFixture;
let own: Record<string, string>;

beforeAll(async () => {
  rig = await startGraphqlFixture({
    typeDefs,
    statementTimeoutMs: 1_000,
    resolvers: {
      Query: {
        fails,
        word: () => "here",
        strict: () => ({ inner: null, word: "here" }),
        strictRoot: () => null,
        leaf: () => SECRET,
      },
      Mutation: { fails },
    },
  });
  own = { "x-api-key": await rig.newKey() };
});
afterAll(() => rig[Symbol.asyncDispose]());

const ask = (how: string, beside = ""): ReturnType<GraphqlFixture["post"]> =>
  rig.post({ query: `query ($how: String!) { fails(how: $how) ${beside} }`, variables: { how } }, own);

/** Returns the lines of a request, which are written after its response. */
function linesOf({ headers }: RawGraphqlResponse): Promise<Record<string, unknown>[]> {
  return eventually(() => {
    const lines = rig.log.filter((line) => line["request_id"] === headers.get("x-request-id"));
    expect(lines.filter((line) => "route" in line)).toHaveLength(1);
    return lines;
  });
}

describe("an error thrown by a resolver", () => {
  it.each([
    ["problems", 400, "BAD_USER_INPUT", "filter.status is no status"],
    ["unauthenticated", 401, "UNAUTHENTICATED", "Who are you?"],
    ["forbidden", 403, "FORBIDDEN", "The API key lacks the scope jobs:read"],
    ["tooMany", 429, "RATE_LIMITED", "Too many"],
    ["overload", 503, "SERVICE_UNAVAILABLE", "The server is overloaded. Try again shortly."],
    ["away", 503, "SERVICE_UNAVAILABLE", "The database is unreachable. Try again shortly."],
    ["slow", 503, "TIMEOUT", expect.stringContaining("took too long")],
    ["refusedSql", 500, "INTERNAL_SERVER_ERROR", "An unexpected error happened on our side"],
    ["crash", 500, "INTERNAL_SERVER_ERROR", "An unexpected error happened on our side"],
    ["text", 500, "INTERNAL_SERVER_ERROR", "An unexpected error happened on our side"],
    ["later", 500, "INTERNAL_SERVER_ERROR", "An unexpected error happened on our side"],
  ])("%s is %i %s", async (how, status, code, message) => {
    // graphql-js runs it the first time; later runs are compiled.
    for (const time of ["first", "second", "third"]) {
      const { status: answered, headers, body } = await ask(how);
      const requestId = headers.get("x-request-id");
      expect({ time, status: answered, ...body }).toMatchObject({
        time,
        status,
        data: { fails: null },
        errors: [{ message, path: ["fails"], extensions: { code, requestId } }],
        extensions: { cost: 0 },
      });
      expect(JSON.stringify(body)).not.toMatch(/stack|Hidden Lane|select|ECONNREFUSED|\.ts/);
    }
  });

  it("has its problems by argument name", async () => {
    const { body } = await ask("problems");
    expect(body.errors[0].extensions.problems).toEqual([
      { field: "filter.status", code: "unknown", message: "is no status" },
    ]);
  });

  it("sets its headers", async () => {
    expect((await ask("unauthenticated")).headers.get("www-authenticate")).toBe("Bearer");
    expect((await ask("tooMany")).headers.get("retry-after")).toBe("7");
    expect((await ask("away")).headers.get("retry-after")).toBe("2");
  });

  it("leaves the other fields unchanged, with status 200", async () => {
    for (const how of ["problems", "forbidden", "crash"]) {
      const { status, body } = await ask(how, "word");
      expect({ status, data: body.data }).toEqual({ status: 200, data: { fails: null, word: "here" } });
      expect(body.errors).toHaveLength(1);
    }
  });

  it("fails a mutation whose payload is not nullable", async () => {
    for (const _ of [1, 2]) {
      const { status, body } = await rig.post({ query: 'mutation { fails(how: "forbidden") }' }, own);
      expect(status).toBe(403);
      expect(body).toMatchObject({
        data: null,
        errors: [{ path: ["fails"], extensions: { code: "FORBIDDEN" } }],
      });
    }
  });
});

describe("an internal error", () => {
  it.each(["crash", "later", "refusedSql"])("is logged once, with its request: %s", async (how) => {
    const lines = await linesOf(await ask(how));
    expect(lines.filter(({ level }) => level === "error")).toMatchObject([
      { err: { message: expect.any(String), stack: expect.any(String) } },
    ]);
  });

  it("is a null or a wrong type in a resolver's result", async () => {
    for (const query of ["{ strict { inner word } word }", "{ strictRoot word }", "{ leaf word }"]) {
      for (const _ of [1, 2]) {
        const { body } = await rig.post({ query }, own);
        expect(body.errors).toMatchObject([
          {
            message: "An unexpected error happened on our side",
            extensions: { code: "INTERNAL_SERVER_ERROR" },
          },
        ]);
        expect(JSON.stringify(body)).not.toContain("Hidden Lane");
      }
    }
  });

  it("is not caused by client errors", async () => {
    for (const response of [
      await ask("problems"),
      await ask("forbidden"),
      await rig.post({ query: "{ wort }" }, own),
      await rig.post({ query: "query ($n: Int!) { word }", variables: { n: "x" } }, own),
    ])
      expect((await linesOf(response)).filter(({ level }) => level === "error")).toEqual([]);
  });
});
