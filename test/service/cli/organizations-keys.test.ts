import { describe, expect, it } from "vitest";
import { sql } from "../../../src/core/postgres/sql.ts";
import { useCliFixture } from "../../support/processes/cli.fixture.ts";

const { run: waymark, runJson, database } = useCliFixture();

describe("org", () => {
  it("creates, lists, suspends and restores an organisation, and records why it was suspended", async () => {
    const created = await runJson("org", "create", "--name", "Übermut & Co", "--type", "contractor");
    expect(created).toEqual({
      id: expect.stringMatching(/^org_[0-9A-Z]{26}$/),
      name: "Übermut & Co",
      type: "contractor",
      suspended_at: null,
      created_at: expect.any(String),
    });
    const { items } = await runJson("org", "list");
    expect(items).toContainEqual(created);
    expect(await runJson("org", "suspend", created.id, "--reason", "unpaid")).toEqual({
      ...created,
      suspended_at: expect.any(String),
    });
    expect((await waymark("org", "list")).stdout).toMatch(
      new RegExp(`${created.id} +contractor +20\\S+Z +Übermut & Co\n`),
    );
    expect(await runJson("org", "restore", "Übermut & Co")).toEqual(created);
    const entries = await database().query(
      sql`select action, actor, details from audit_entry where subject = ${created.id} order by id`,
    );
    expect(entries).toEqual([
      { action: "organization.suspended", actor: "system", details: { reason: "unpaid" } },
      { action: "organization.restored", actor: "system", details: null },
    ]);
  });
});

describe("key", () => {
  it("creates a key with the given options, and lists everything except the secret", async () => {
    const command = "key create --org Acme --name n --scopes jobs:read,jobs:write --expires 2099-12-31";
    const created = await runJson(...command.split(" "), "--cidr", "10.0.0.0/8", "192.0.2.7");
    const { key, ...shown } = created;
    expect(key).toMatch(/^wmk_[0-9a-z]{8}_[\w-]{49}$/);
    expect(shown).toEqual({
      id: expect.stringMatching(/^key_[0-9A-Z]{26}$/),
      prefix: key.slice(0, 12),
      organization_id: expect.stringMatching(/^org_/),
      organization_name: "Acme",
      name: "n",
      mode: "live",
      scopes: ["jobs:read", "jobs:write"],
      cidrs: ["10.0.0.0/8", "192.0.2.7/32"],
      created_by: "cli",
      created_at: expect.any(String),
      expires_at: "2100-01-01T00:00:00.000Z",
      revoked_at: null,
      last_used_at: null,
    });
    expect((await runJson("key", "list", "--org", "Acme")).items).toContainEqual(shown);
    expect((await runJson("key", "list", "--org", "Swift Couriers")).items).toEqual([]);
    const listed = await waymark("key", "list");
    expect(listed.stdout).toMatch(
      new RegExp(`${shown.id} +wmk_\\w{8} +live +2100-\\S+ +- +Acme +n +jobs:read, jobs:write\n`),
    );
    expect(listed.stdout + listed.stderr).not.toContain(key);
  });

  it("lists live keys, and test keys on request, each with its mode", async () => {
    const [live, test] = [
      await runJson("key", "create", "--org", "Acme"),
      await runJson("key", "create", "--org", "Acme", "--test"),
    ];
    const operator = await runJson("key", "create", "--operator");
    const keys = new Set([live.id, test.id, operator.id]);
    const listed = async (...args: string[]) => {
      const { items } = await runJson("key", "list", ...args);
      return (items as { id: string; mode: string }[])
        .filter(({ id }) => keys.has(id))
        .map(({ id, mode }) => [id, mode]);
    };
    const rows = { live: [live.id, "live"], test: [test.id, "test"], operator: [operator.id, "live"] };
    expect(await listed()).toEqual([rows.live, rows.operator]);
    expect(await listed("--mode", "test")).toEqual([rows.test]);
    expect(await listed("--org", "Acme", "--mode", "all")).toEqual([rows.live, rows.test]);
  });

  it("accepts a date-time or a number of days as expiry, and defaults to jobs:read and jobs:write", async () => {
    const [dateTime, days] = await Promise.all([
      runJson("key", "create", "--org", "Acme", "--expires", "2099-06-01T12:00:00+02:00"),
      runJson("key", "create", "--org", "Acme", "--expires", "90d"),
    ]);
    expect(dateTime.expires_at).toBe("2099-06-01T10:00:00.000Z");
    expect(Math.round((Date.parse(days.expires_at) - Date.now()) / 86_400_000)).toBe(90);
    expect(days.scopes).toEqual(["jobs:read", "jobs:write"]);
  });

  it("revokes a key named by its ID, its prefix or the full key", async () => {
    const issued = await Promise.all([1, 2, 3].map(() => runJson("key", "create", "--org", "Acme")));
    const references = [issued[0].id, issued[1].prefix, issued[2].key];
    for (const [index, reference] of references.entries()) {
      expect(await runJson("key", "revoke", reference)).toMatchObject({
        id: issued[index].id,
        revoked_at: expect.any(String),
      });
    }
    expect(await waymark("key", "revoke", references[0])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^revoked_at: 20/m),
    });
  });

  it("sets, removes and resets single rate limits of a key", async () => {
    const { id } = await runJson("key", "create", "--org", "Acme");
    const limitsAfter = async (...limits: string[]) =>
      (await runJson("key", "update", id, ...limits.flatMap((limit) => ["--limit", limit]))).rate_limits;
    expect(await limitsAfter("read=10/20", "batch=none")).toEqual({
      read: { perSecond: 10, burst: 20 },
      batch: null,
    });
    expect(await limitsAfter("read=default")).toEqual({ batch: null });
    expect(await limitsAfter("write=0.5/1")).toEqual({ batch: null, write: { perSecond: 0.5, burst: 1 } });
    expect(await limitsAfter("batch=default", "write=default")).toBeNull();
    for (const invalid of ["read", "all=1/1", "read=0/1", "read=1/0", "read=1"])
      expect(await waymark("key", "update", id, "--limit", invalid)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("read=10/20"),
      });
  });

  it("rotates a key, and keeps the old one valid for the given hours", async () => {
    const old = await runJson("key", "create", "--org", "Acme", "--scopes", "jobs:read");
    const rotated = await runJson("key", "rotate", old.id, "--grace-hours", "2");
    expect(rotated).toMatchObject({
      key: expect.stringMatching(/^wmk_/),
      scopes: ["jobs:read"],
      expires_at: null,
    });
    expect(rotated.replaces.id).toBe(old.id);
    expect(Math.round((Date.parse(rotated.replaces.expires_at) - Date.now()) / 3_600_000)).toBe(2);
  });
});
