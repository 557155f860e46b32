/** The list of all HTTP routes, and the credentials that each requires. */
import { glob, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sql } from "../../src/core/postgres/sql.ts";
import { routeCases, sendFromOwnPage } from "../support/app/route-cases.ts";
import { listAllRoutes } from "../support/app/registered-routes.ts";
import { startTestApp, type TestOrganization, type TestApp } from "../support/app/app.fixture.ts";

let app: TestApp;
let agent: TestOrganization;

beforeAll(async () => {
  app = await startTestApp({ NODE_ENV: "production" });
  agent = await app.createOrganization("agent");
});
afterAll(() => app[Symbol.asyncDispose]());

const titled = (by: string): [string, (typeof routeCases)[number]][] =>
  routeCases.filter((route) => route.auth === by).map((route) => [`${route.method} ${route.route}`, route]);

describe("HTTP routes", () => {
  // evidence: routes-listed
  it("are exactly those listed in the test's route cases", () => {
    const listed = routeCases
      .filter(({ route }) => route !== "/console-api/jobs.csv")
      .map(({ method, route }) => `${method} ${route}`);
    expect(listAllRoutes().toSorted()).toEqual(listed.toSorted());
  });

  // evidence: routes-require-credentials
  it.each([...titled("key"), ...titled("session")])(
    "return 401 without credentials: %s",
    async (_, route) => {
      const response = await sendFromOwnPage(
        app,
        route,
        route.json ? { body: "{}", headers: { "content-type": "application/json" } } : {},
      );
      expect(response.status).toBe(401);
    },
  );

  // evidence: session-routes-reject-api-keys
  it.each(titled("session"))("do not accept an API key instead of a session: %s", async (_, route) => {
    const headers = { "x-api-key": agent.key, "content-type": "application/json" };
    const response = await sendFromOwnPage(app, route, { headers, ...(route.json && { body: "{}" }) });
    expect(response.status).toBe(401);
  });

  const ofPages = [...titled("session"), ...titled("none")].filter(([, { method }]) => method !== "GET");
  // evidence: csrf-cookie-routes
  it.each(ofPages)("reject changes from pages of other origins: %s", async (_, route) => {
    const headers = { origin: "https://elsewhere.example", "content-type": "application/json" };
    const response = await fetch(app.url + route.path, {
      method: route.method,
      headers,
      ...(route.json && { body: "{}" }),
    });
    expect(response.status).toBe(403);
  });

  // evidence: operator-tasks-operators-only
  it.each(["/operator/agenda/api", "/operator/agenda/tasks", "/operator/agenda/"])(
    "show the task dashboard to operators only: %s",
    async (path) => {
      expect((await sendFromOwnPage(app, { method: "GET", path })).status).toBe(401);
    },
  );

  // evidence: routes-no-project-files
  it.each([
    "/.git/config",
    "/.env",
    "/package.json",
    "/src/main.ts",
    "/.waymark/secret",
    "/server-status",
    "/debug/pprof",
    "/v0/jobs",
    "/v2/jobs",
    "/admin",
    "/assets/..%2f..%2fpackage.json",
    "/assets/%2e%2e%2findex.html",
    "/docs/assets/1/..%2f..%2f..%2fpackage.json",
  ])("holds no file of the project and no old or hidden way in: %s", async (path) => {
    const response = await sendFromOwnPage(app, { method: "GET", path });
    expect(response.status).toBe(404);
  });
});

describe("the audit log", () => {
  // evidence: audit-log-append-only
  it("is append-only: no statement in src updates or deletes its rows", async () => {
    const folder = join(import.meta.dirname, "../../src");
    const texts: string[] = [];
    for await (const file of glob("**/*.ts", { cwd: folder, exclude: ["migrations/**", "console/**"] }))
      texts.push(await readFile(join(folder, file), "utf8"));
    const code = texts.join("\n");
    expect(code.match(/\binsert\(AuditEntry\b|\binsert\s+into\s+"?audit_entry\b/gi)).toHaveLength(1);
    // With MikroORM: a native statement, or an entity that a unit of work could change.
    const unsafe =
      /\b(nativeUpdate|nativeDelete|upsert|upsertMany|create|assign|getReference|findOne|findOneOrFail|createQueryBuilder)\(\s*AuditEntry\b/g;
    expect(code.match(unsafe) ?? []).toEqual([]);
    expect(
      code.match(/\b(update|(delete|merge)\s+\w+|truncate(\s+table)?)\s+(only\s+)?"?audit_entry\b/gi) ?? [],
    ).toEqual([]);
    // No foreign key deletes entries with the objects they name.
    expect(
      await app.database.query(
        sql`select conname from pg_constraint where conrelid = 'audit_entry'::regclass and contype = 'f'`,
      ),
    ).toEqual([]);
  });
});
