/** What answers over HTTP is known, each with who may ask: nothing is there beside it, and nothing opens to nobody. */
import { glob, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sql } from "../../src/platform/postgres/sql.ts";
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

/** With ids and Marking Numbers as the router writes them. */
const asRoute = (path: string): string =>
  path.replace(/\/NONE/, "/{markingNumber}").replace(/\/sessions\/.+/, "/sessions/{id}");

const titled = (by: string): [string, (typeof routeCases)[number]][] =>
  routeCases.filter((door) => door.auth === by).map((door) => [`${door.method} ${asRoute(door.path)}`, door]);

describe("what answers over HTTP", () => {
  // evidence: routes-listed
  it("is listed here: every route of the server, and no other", async () => {
    const beside = new Set(["/console-api/jobs.csv"]);
    const listed = routeCases
      .filter(({ path }) => !beside.has(path))
      .map(({ method, path }) => `${method} ${asRoute(path)}`);
    expect((await listAllRoutes()).toSorted()).toEqual(listed.toSorted());
  });

  // evidence: routes-require-credentials
  it.each([...titled("key"), ...titled("session")])(
    "opens to nobody without credentials: %s",
    async (_, door) => {
      const response = await sendFromOwnPage(
        app,
        door,
        door.json ? { body: "{}", headers: { "content-type": "application/json" } } : {},
      );
      expect(response.status).toBe(401);
    },
  );

  // evidence: session-routes-reject-api-keys
  it.each(titled("session"))("does not take an API key for a person: %s", async (_, door) => {
    const headers = { "x-api-key": agent.key, "content-type": "application/json" };
    const response = await sendFromOwnPage(app, door, { headers, ...(door.json && { body: "{}" }) });
    expect(response.status).toBe(401);
  });

  // evidence: csrf-cookie-routes
  it.each(titled("session").filter(([, { method }]) => method !== "GET"))(
    "is changed by pages of the service alone: %s",
    async (_, door) => {
      const headers = { origin: "https://elsewhere.example", "content-type": "application/json" };
      const response = await fetch(app.url + door.path, {
        method: door.method,
        headers,
        ...(door.json && { body: "{}" }),
      });
      expect(response.status).toBe(403);
    },
  );

  // evidence: operator-tasks-operators-only
  it.each(["/operator/agenda/api", "/operator/agenda/"])(
    "operators' tasks are shown to nobody else: %s",
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
  it("is only added to: no statement of the product changes or deletes what it holds", async () => {
    const folder = join(import.meta.dirname, "../../src");
    const texts: string[] = [];
    for await (const file of glob("**/*.ts", { cwd: folder, exclude: ["migrations/**", "console/**"] }))
      texts.push(await readFile(join(folder, file), "utf8"));
    const code = texts.join("\n");
    expect(code.match(/\binsert\s+into\s+"?audit_entry\b/gi)).toHaveLength(1);
    expect(
      code.match(/\b(update|(delete|merge)\s+\w+|truncate(\s+table)?)\s+(only\s+)?"?audit_entry\b/gi) ?? [],
    ).toEqual([]);
    // Nor does an entry go with what it is about.
    expect(
      await app.database.query(
        sql`select conname from pg_constraint where conrelid = 'audit_entry'::regclass and contype = 'f'`,
      ),
    ).toEqual([]);
  });
});
