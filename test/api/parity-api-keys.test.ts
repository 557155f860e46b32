/** The actions of API keys have the same effects, results and refusals in REST and GraphQL. */
import { beforeAll, describe, expect, it } from "vitest";
import type { NewKey } from "../../src/api-keys/api-key.changes.ts";
import { scopes } from "../../src/api-keys/api.ts";
import { organizationModes } from "../../src/organizations/api.ts";
import { toTypedId } from "../../src/core/ids.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import type { TestOrganization } from "../support/app/app.fixture.ts";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";
import {
  expectSameData,
  expectSameEffect,
  expectSameRefusal,
  runBoth,
  type ParityAction,
  type ParityFixture,
} from "../support/app/parity.ts";
import { inRestForm } from "../support/webhooks/webhook-parity.fixture.ts";

let app: SharedApp;
/** The id of a key of another organisation. */
let foreign: string;

beforeAll(async () => {
  app = await sharedApp("api");
  foreign = (await issue(await app.createOrganization("agent"), "foreign")).id;
});

interface KeyFixture extends ParityFixture {
  /** The id of the calling key. */
  caller: string;
  /** The id of the key that the action names. */
  target: string;
}
type Action = ParityAction<KeyFixture>;

interface KeySetUp {
  /** Default: all scopes, no expiry, any IP address. */
  caller?: Partial<NewKey>;
  target?: Partial<NewKey>;
  /** State of the target. */
  state?: "revoked" | "expired" | "with created keys";
  /** Replaces the target. */
  named?: "another organisation's" | "unknown" | "malformed" | "the calling key";
}

const LATER = "2099-01-01T00:00:00.000Z";
const EARLIER = "2098-01-01T00:00:00.000Z";
const LOCAL = "127.0.0.0/8";

async function issue({ id }: TestOrganization, name: string, key: Partial<NewKey> = {}) {
  const issued = await app.keys.create({ organizationId: id, name, createdBy: "test", scopes, ...key });
  return { id: toTypedId("key", issued.key.id), uuid: issued.key.id, text: issued.text };
}

const setUp =
  ({ caller: callerKey, target: targetKey, state, named }: KeySetUp = {}) =>
  async (): Promise<KeyFixture> => {
    const organization = await app.createOrganization("agent");
    const caller = await issue(organization, "caller", callerKey);
    const target = await issue(organization, "target", targetKey);
    if (state === "revoked") await app.keys.revoke(target.uuid);
    if (state === "expired")
      await app.database.query(sql`
        update api_key set expires_at = ${"2026-01-02T00:00:00Z"} where id = ${target.uuid}`);
    if (state === "with created keys") {
      const child = await issue(organization, "child", { createdBy: target.id });
      await issue(organization, "grandchild", { createdBy: child.id, scopes: ["jobs:read"] });
    }
    const others = {
      "another organisation's": foreign,
      unknown: "key_01KAB7Q3M5E8RZ2C4WFX9TNH6D",
      malformed: "nonsense",
      "the calling key": caller.id,
    };
    return {
      organization,
      key: caller.text,
      caller: caller.id,
      target: named ? others[named] : target.id,
    };
  };

const KEY_FIELDS = "id prefix name mode scopes cidrs createdBy createdAt expiresAt revokedAt lastUsedAt";
const USER_ERRORS = "userErrors { code field message }";

interface KeyInput {
  name?: unknown;
  scopes?: readonly string[] | null;
  expires_at?: string | null;
  cidrs?: readonly string[] | null;
}

/** GraphQL's name of a scope or mode: `JOBS_READ`. */
const enumName = (name: string): string => name.toUpperCase().replace(":", "_");

function create(input: KeyInput, options?: KeySetUp): Action {
  const { scopes: named, expires_at: expiresAt, ...rest } = input;
  const graphqlInput = {
    ...rest,
    ...("scopes" in input && { scopes: named?.map(enumName) ?? null }),
    ...("expires_at" in input && { expiresAt }),
  };
  return {
    setUp: setUp(options),
    rest: () => ({ method: "POST", path: "/v1/api-keys", body: input }),
    graphql: () => ({
      document: `mutation ($input: CreateApiKeyInput!) {
        createApiKey(input: $input) { apiKey { ${KEY_FIELDS} } secret ${USER_ERRORS} } }`,
      variables: { input: graphqlInput },
    }),
  };
}

function rotate(options?: KeySetUp, graceHours?: number): Action {
  return {
    setUp: setUp(options),
    rest: ({ target }) => ({
      method: "POST",
      path: `/v1/api-keys/${target}/rotate`,
      ...(graceHours !== undefined && { body: { grace_hours: graceHours } }),
    }),
    graphql: ({ target }) => ({
      document: `mutation ($id: ID!, $graceHours: Int! = 24) {
        rotateApiKey(id: $id, graceHours: $graceHours) { apiKey { ${KEY_FIELDS} } secret ${USER_ERRORS} } }`,
      variables: { id: target, ...(graceHours !== undefined && { graceHours }) },
    }),
  };
}

function revoke(options?: KeySetUp, includeCreatedKeys = false): Action {
  return {
    setUp: setUp(options),
    rest: ({ target }) => ({
      method: "DELETE",
      path: `/v1/api-keys/${target}${includeCreatedKeys ? "?include_created_keys=true" : ""}`,
    }),
    graphql: ({ target }) => ({
      document: `mutation ($id: ID!, $includeCreatedKeys: Boolean!) {
        revokeApiKey(id: $id, includeCreatedKeys: $includeCreatedKeys) {
          apiKey { ${KEY_FIELDS} } alsoRevoked { ${KEY_FIELDS} } ${USER_ERRORS} } }`,
      variables: { id: target, includeCreatedKeys },
    }),
  };
}

const list = (options?: KeySetUp): Action => ({
  setUp: setUp(options),
  rest: () => ({ path: "/v1/api-keys" }),
  graphql: () => ({ document: `{ apiKeys { ${KEY_FIELDS} } }` }),
});

/** Names in snake case, scopes and modes as in REST. When a key was last used is written later. */
function keysInRestForm(value: unknown): unknown {
  const text = JSON.stringify(inRestForm(value), (name, member: unknown) =>
    name === "last_used_at" ? null : member,
  );
  const names = [...scopes, ...organizationModes].map((name): [string, string] => [
    `"${enumName(name)}"`,
    name,
  ]);
  return JSON.parse(names.reduce((json, [name, scope]) => json.replaceAll(name, `"${scope}"`), text));
}

async function expectSameResult(action: Action) {
  const both = await expectSameEffect(app, action);
  const [payload] = Object.values(both.graphql.response.data as Record<string, object>);
  const { userErrors: _, ...data } = Array.isArray(payload)
    ? { items: payload as unknown, userErrors: [] }
    : (payload as { userErrors: unknown });
  expectSameData(keysInRestForm(both.rest.response.body.data), keysInRestForm(data));
  return both.rest;
}

/** The actions of the audit log, oldest first. */
const auditOf = ({ stored }: { stored: Readonly<Record<string, readonly unknown[]>> }): string[] =>
  (stored["audit_entry"] as { action: string }[]).map(({ action }) => action).toSorted();

const statuses = { invalid: 400, forbidden: 403, not_found: 404, conflict: 409, limit_exceeded: 409 };

async function expectRefused(action: Action, code: keyof typeof statuses, message: RegExp) {
  const { rest } = await expectSameRefusal(app, action, code);
  expect(rest.response.status).toBe(statuses[code]);
  expect(auditOf(rest)).toEqual([]);
  expect(rest.refusal?.messages.join("\n")).toMatch(message);
}

/** Fills the organisation up to the limit of active keys. */
const withManyKeys =
  (action: Action): Action["setUp"] =>
  async (on) => {
    const fixture = await action.setUp(on);
    await app.database.query(sql`
      insert into api_key (id, prefix, secret_hash, organization_id, name, scopes, created_by)
      select gen_random_uuid(), 'wmk_' || substr(md5(random()::text), 1, 8), '\\x00', ${fixture.organization.id}::uuid,
        'filler', '{jobs:read}', 'test' from generate_series(1, 97)`);
    return fixture;
  };

describe("creating a key", () => {
  it.each<[string, KeyInput, KeySetUp?]>([
    ["only a name, with the defaults", { name: "new" }],
    ["null is absent", { name: "new", scopes: null, expires_at: null, cidrs: null }],
    [
      "all members",
      {
        name: "ünïcode ✓",
        scopes: ["jobs:read"],
        expires_at: LATER,
        cidrs: ["203.0.113.0/24", "2001:db8::1"],
      },
    ],
    ["keys:manage, which is named", { name: "new", scopes: ["keys:manage", "jobs:read"] }],
    ["the same scope twice", { name: "new", scopes: ["jobs:read", "jobs:read"] }],
    [
      "the limits of the calling key by default",
      { name: "new" },
      { caller: { scopes: ["jobs:read", "keys:manage"], expiresAt: new Date(LATER), cidrs: [LOCAL] } },
    ],
    [
      "less than the calling key has",
      { name: "new", expires_at: EARLIER, cidrs: ["127.0.0.1/32"] },
      { caller: { expiresAt: new Date(LATER), cidrs: [LOCAL] } },
    ],
    ["the longest name", { name: "x".repeat(100) }],
  ])("stores the same row and audit entry: %s", async (_what, input, options) => {
    const rest = await expectSameResult(create(input, options));
    expect(rest.response.status).toBe(201);
    expect(auditOf(rest)).toEqual(["key.created"]);
  });

  it.each<[string, KeyInput, RegExp]>([
    ["an empty name", { name: " " }, /^name must not be empty$/],
    ["a name that is too long", { name: "x".repeat(101) }, /^name must be at most 100 characters$/],
    ["a control character in the name", { name: "a\u0007" }, /^name must not contain control characters/],
    ["no scope", { name: "new", scopes: [] }, /^scopes must name at least one scope$/],
    ["an expiry in the past", { name: "new", expires_at: "2020-01-01T00:00:00Z" }, /^expiresAt must be in/],
    ["no IP range", { name: "new", cidrs: [] }, /^cidrs must be a list of 1 to 100 ranges$/],
    ["no valid IP range", { name: "new", cidrs: ["10.0.0.0/8", "x"] }, /^cidrs\.1 must be a CIDR range/],
    [
      "several problems",
      { name: "", scopes: [], expires_at: "2020-01-01T00:00:00Z", cidrs: [] },
      /^name [^]*\nscopes [^]*\nexpiresAt [^]*\ncidrs /,
    ],
  ])("400 is for the same reason: %s", async (_what, input, message) => {
    await expectRefused(create(input), "invalid", message);
  });

  it("400 is for the same reason: no scope is left by default", async () => {
    const options: KeySetUp = { caller: { scopes: ["keys:manage"] } };
    await expectRefused(create({ name: "new" }, options), "invalid", /^scopes must be named/);
  });

  it.each<[string, KeyInput]>([
    ["an unknown scope", { name: "new", scopes: ["jobs:delete"] }],
    ["a name that is no text", { name: 5 }],
    ["no name", {}],
    ["a time without a zone", { name: "new", expires_at: "2099-01-01T00:00:00" }],
  ])("400 in both, with each interface's own message: %s", async (_what, input) => {
    const both = await runBoth(app, create(input));
    expect(both.rest.response.status).toBe(400);
    expect(both.graphql.refusal?.code).toBe("invalid");
    expect(both.rest.stored).toEqual(both.graphql.stored);
  });

  const bounded: KeySetUp = {
    caller: { scopes: ["jobs:read", "keys:manage"], expiresAt: new Date(EARLIER), cidrs: [LOCAL] },
  };
  it.each<[string, KeyInput, KeySetUp, RegExp]>([
    ["a scope that the calling key lacks", { name: "new", scopes: ["jobs:write"] }, bounded, /jobs:write$/],
    ["an expiry after that of the calling key", { name: "new", expires_at: LATER }, bounded, /2098-01-01T/],
    ["a wider IP range", { name: "new", cidrs: ["127.0.0.0/7"] }, bounded, /127\.0\.0\.0\/8$/],
    ["one IP range outside", { name: "new", cidrs: [LOCAL, "10.0.0.0/8"] }, bounded, /127\.0\.0\.0\/8$/],
  ])("403 is for the same reason: %s", async (_what, input, options, message) => {
    await expectRefused(create(input, options), "forbidden", message);
  });

  it("409 is for the same reason: too many keys", async () => {
    const action = create({ name: "new" });
    await expectRefused(
      { ...action, setUp: withManyKeys(action) },
      "limit_exceeded",
      /already 100 active keys/,
    );
  });
});

describe("rotating a key", () => {
  const bounds = { expiresAt: new Date(LATER), cidrs: [LOCAL], scopes: ["jobs:read"] as const };

  it.each<[string, KeySetUp, number?]>([
    ["with a day of grace by default", {}],
    ["with an hour of grace", {}, 1],
    ["without grace", {}, 0],
    ["which keeps its scopes, ranges and expiry", { target: bounds }],
    ["the calling key itself", { named: "the calling key" }],
  ])("stores the same rows and audit entry: %s", async (_what, options, graceHours) => {
    const rest = await expectSameResult(rotate(options, graceHours));
    expect(rest.response.status).toBe(201);
    expect(auditOf(rest)).toEqual(["key.rotated"]);
  });

  it.each([-1, 25])("400 is for the same reason: %i hours of grace", async (graceHours) => {
    await expectRefused(rotate({}, graceHours), "invalid", /^graceHours must be from 0 to 24$/);
  });

  const reader: Partial<NewKey> = { scopes: ["jobs:read", "keys:manage"] };
  it.each<[string, KeySetUp, RegExp]>([
    ["more scopes than the calling key", { caller: reader }, /jobs:write, webhooks:manage$/],
    ["no IP ranges, unlike the calling key", { caller: { cidrs: [LOCAL] } }, /127\.0\.0\.0\/8$/],
    ["a later expiry", { caller: { expiresAt: new Date(EARLIER) }, target: bounds }, /2098-01-01T/],
  ])("403 is for the same reason: %s", async (_what, options, message) => {
    await expectRefused(rotate(options), "forbidden", message);
  });

  it.each(["unknown", "malformed", "another organisation's"] as const)(
    "404 is for the same reason: %s",
    async (named) => {
      await expectRefused(rotate({ named }), "not_found", /^No such key$/);
    },
  );

  it.each(["revoked", "expired"] as const)("409 is for the same reason: %s", async (state) => {
    await expectRefused(rotate({ state }), "conflict", new RegExp(`${state} key cannot be rotated`));
  });

  it("409 is for the same reason: too many keys; without grace it succeeds", async () => {
    const action = rotate();
    await expectRefused(
      { ...action, setUp: withManyKeys(action) },
      "limit_exceeded",
      /already 100 active keys/,
    );
    const withoutGrace = rotate({}, 0);
    await expectSameResult({ ...withoutGrace, setUp: withManyKeys(withoutGrace) });
  });
});

describe("revoking a key", () => {
  it.each<[string, KeySetUp, boolean, string[]]>([
    ["one key", {}, false, ["key.revoked"]],
    ["but not the keys that it created", { state: "with created keys" }, false, ["key.revoked"]],
    ["and the keys that it created", { state: "with created keys" }, true, Array(3).fill("key.revoked")],
    ["the calling key itself", { named: "the calling key" }, false, ["key.revoked"]],
    ["again, without another audit entry", { state: "revoked" }, false, []],
    [
      "with a later expiry than the calling key",
      { caller: { expiresAt: new Date(LATER) } },
      false,
      ["key.revoked"],
    ],
  ])("stores the same rows and audit entries: %s", async (_what, options, includeCreated, audit) => {
    const rest = await expectSameResult(revoke(options, includeCreated));
    expect(rest.response.status).toBe(200);
    expect(auditOf(rest)).toEqual(audit);
  });

  const reader: Partial<NewKey> = { scopes: ["jobs:read", "keys:manage"] };
  it.each<[string, KeySetUp, boolean, RegExp]>([
    ["more scopes than the calling key", { caller: reader }, false, /jobs:write, webhooks:manage$/],
    [
      "more scopes of a key that it created",
      { caller: reader, target: reader, state: "with created keys" },
      true,
      /jobs:write, webhooks:manage$/,
    ],
  ])("403 is for the same reason: %s", async (_what, options, includeCreated, message) => {
    await expectRefused(revoke(options, includeCreated), "forbidden", message);
  });

  it.each(["unknown", "malformed", "another organisation's"] as const)(
    "404 is for the same reason: %s",
    async (named) => {
      await expectRefused(revoke({ named }), "not_found", /^No such key$/);
    },
  );
});

describe("listing keys", () => {
  it.each<[string, KeySetUp]>([
    [
      "with scopes, ranges and expiry",
      { target: { scopes: ["jobs:read"], cidrs: [LOCAL], expiresAt: new Date(LATER) } },
    ],
    ["with a revoked key", { state: "revoked" }],
    ["with keys that a key created", { state: "with created keys" }],
    ["without another organisation's", { named: "another organisation's" }],
  ])("returns the same keys: %s", async (_what, options) => {
    const { response, fixture } = await expectSameResult(list(options));
    const items = response.body.data.items as { id: string; name: string }[];
    // The first key is the organisation's own.
    expect(items.map(({ name }) => name)).toEqual([
      "test",
      "caller",
      "target",
      ...(options.state === "with created keys" ? ["child", "grandchild"] : []),
    ]);
    expect(items[1]?.id).toBe(fixture.caller);
  });
});
