/** API keys over REST: what a key with keys:manage gives, rotation, and what is stored for an Idempotency-Key. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { NewKey } from "../../src/api-keys/changes.ts";
import { scopes } from "../../src/api-keys/api.ts";
import { toTypedId } from "../../src/core/ids.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import { startTestApp, type TestApp } from "../support/app/app.fixture.ts";
import type { ApiResponse } from "../support/app/app-instance.ts";
import { expectFailure, expectProblems } from "../support/app/assertions.ts";
import { createFakeClock, HOUR_MS } from "../support/fake-clock.ts";

const clock = createFakeClock();
/** On its own database, because some tests search all tables. */
let app: TestApp;

beforeAll(async () => {
  app = await startTestApp({ WAYMARK_ROLE: "api" }, { clock });
});
afterAll(() => app[Symbol.asyncDispose]());

interface Caller {
  id: string;
  key: string;
}

/** A key of a new organisation. */
async function newCaller(key: Partial<NewKey> = {}): Promise<Caller> {
  const { id } = await app.createOrganization("agent");
  const newKey = { organizationId: id, name: "caller", createdBy: "test", scopes, ...key };
  const { key: created, text } = await app.keys.create(newKey);
  return { id: toTypedId("key", created.id), key: text };
}

interface Options {
  body?: object;
  headers?: Record<string, string>;
}

function post({ key }: Pick<Caller, "key">, path: string, { body, headers = {} }: Options = {}) {
  return app.call(path, { method: "POST", key, headers, ...(body && { body: JSON.stringify(body) }) });
}
const create = (caller: Pick<Caller, "key">, members: object = {}, headers = {}): Promise<ApiResponse> =>
  post(caller, "/v1/api-keys", { body: { name: "new", ...members }, headers });
const rotate = (caller: Pick<Caller, "key">, id: string, body?: object, headers = {}): Promise<ApiResponse> =>
  post(caller, `/v1/api-keys/${id}/rotate`, { ...(body && { body }), headers });
const me = (key: string): Promise<ApiResponse> => app.call("/v1/me", { key });

interface Issued {
  api_key: Record<string, unknown> & { id: string };
  secret: string;
}

/** Expects a 201 and returns its data. */
function issued({ status, body }: ApiResponse): Issued {
  expect(status).toBe(201);
  return body.data as Issued;
}

describe("a created key", () => {
  it("has the scopes of its creator without keys:manage, no expiry and no IP ranges by default", async () => {
    const caller = await newCaller();
    const { api_key: key, secret } = issued(await create(caller));
    expect(key).toEqual({
      id: expect.stringMatching(/^key_/),
      prefix: secret.slice(0, "wmk_12345678".length),
      name: "new",
      mode: "live",
      scopes: ["jobs:read", "jobs:write", "webhooks:manage"],
      cidrs: null,
      created_by: caller.id,
      created_at: new Date(clock.now()).toISOString(),
      expires_at: null,
      revoked_at: null,
      last_used_at: null,
    });
    expect((await me(secret)).body.data.api_key.id).toBe(key.id);
  });

  it("has keys:manage only if the request names it", async () => {
    const caller = await newCaller();
    const { secret: without } = issued(await create(caller, { scopes: null }));
    expectFailure(await create({ key: without }), 403, "keys:manage");
    const { secret } = issued(await create(caller, { scopes: ["keys:manage", "jobs:read"] }));
    expect(issued(await create({ key: secret })).api_key["scopes"]).toEqual(["jobs:read"]);
  });

  it("400 without scopes if its creator has only keys:manage", async () => {
    const caller = await newCaller({ scopes: ["keys:manage"] });
    const named = issued(await create(caller, { scopes: ["keys:manage"] })).api_key;
    expect(named["scopes"]).toEqual(["keys:manage"]);
    const [problem] = expectProblems(await create(caller), "body", ["scopes"]);
    expect(problem?.message).toContain("must be named");
  });
});

describe("the members of a new key", () => {
  it.each([
    ["name", { name: " " }],
    ["name", { name: "x".repeat(101) }],
    ["name", { name: "a\u0007" }],
    ["scopes", { scopes: [] }],
    ["scopes[0]", { scopes: ["jobs:delete"] }],
    ["expires_at", { expires_at: "2020-01-01T00:00:00Z" }],
    ["cidrs", { cidrs: [] }],
    ["cidrs", { cidrs: Array.from({ length: 101 }, () => "10.0.0.0/8") }],
    ["cidrs[1]", { cidrs: ["10.0.0.0/8", "10.0.0.0/33"] }],
  ])("400 for a wrong %s: %j", async (field, members) => {
    expectProblems(await create(await newCaller(), members), "body", [field]);
  });

  it("400 with all problems; a name can have 100 characters", async () => {
    const caller = await newCaller();
    const wrong = { name: "", scopes: [], cidrs: ["a", "b"] };
    expectProblems(await create(caller, wrong), "body", ["name", "scopes", "cidrs[0]", "cidrs[1]"]);
    const name = "📦".repeat(100);
    expect(issued(await create(caller, { name })).api_key["name"]).toBe(name);
  });
});

describe("rotation", () => {
  it.each([-1, 25, 0.5, "1", null])("400 for grace_hours %j", async (graceHours) => {
    const caller = await newCaller();
    expectProblems(await rotate(caller, caller.id, { grace_hours: graceHours }), "body", ["grace_hours"]);
    expect((await me(caller.key)).status).toBe(200);
  });

  it("has a grace period of 24 hours by default", async () => {
    const caller = await newCaller();
    const { api_key: target } = issued(await create(caller));
    await rotate(caller, target.id);
    const { items } = (await app.call("/v1/api-keys", { key: caller.key })).body.data;
    const old = (items as { id: string; expires_at: string }[]).find(({ id }) => id === target.id);
    expect(old?.expires_at).toBe(new Date(clock.now() + 24 * HOUR_MS).toISOString());
  });
});

/** Everything that is stored for Idempotency-Keys, as text. */
async function storedAnswers(): Promise<string> {
  const rows = await app.database.query<{ row: string }>(sql`
    select to_jsonb(record)::text as row from idempotency_record record`);
  return rows.map(({ row }) => row).join("\n");
}

/** Every table as text, to find a secret anywhere. */
async function tablesWith(secret: string): Promise<string[]> {
  const tables = await app.database.query<{ name: string; count: number }>(sql`
    select table_name as name, (xpath('/row/count/text()', query_to_xml(format(
      'select count(*) as count from %I r where to_jsonb(r)::text like %L', table_name, ${`%${secret}%`}::text),
      false, true, '')))[1]::text::int as count
    from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`);
  return tables.filter(({ count }) => count > 0).map(({ name }) => name);
}

const headers = { "idempotency-key": "once" };

it.each<[string, (caller: Caller) => Promise<ApiResponse>]>([
  ["POST /v1/api-keys", (caller) => create(caller, {}, headers)],
  ["POST /v1/api-keys/{id}/rotate", (caller) => rotate(caller, caller.id, { grace_hours: 24 }, headers)],
])("an Idempotency-Key stores no secret, and returns null in its place: %s", async (_route, send) => {
  const caller = await newCaller();
  const { api_key: key, secret } = issued(await send(caller));
  const repeated = await send(caller);
  expect(repeated.headers.get("idempotency-replayed")).toBe("true");
  expect(repeated.body.data).toEqual({ api_key: key, secret: null });
  const answers = await storedAnswers();
  expect(answers).toContain(key.id);
  // The prefix is public; the rest is the secret.
  expect(answers).not.toContain(secret.slice("wmk_12345678".length + 1));
  expect(await tablesWith(String(key["prefix"]))).toContain("api_key");
  expect(await tablesWith(secret.slice("wmk_12345678".length + 1))).toEqual([]);
});
