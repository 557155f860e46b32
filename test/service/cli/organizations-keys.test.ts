import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { sql } from "../../../src/platform/postgres/sql.ts";
import { useCliFixture } from "../../support/processes/cli.fixture.ts";

const { run: waymark, runJson: documentOf, database } = useCliFixture();

describe("org", () => {
  it("create makes an organisation, list shows it, suspend and restore shut it out and let it in", async () => {
    const made = await documentOf("org", "create", "--name", "Übermut & Co", "--type", "contractor");
    expect(made).toEqual({
      id: expect.stringMatching(/^org_[0-9A-Z]{26}$/),
      name: "Übermut & Co",
      type: "contractor",
      suspended_at: null,
      created_at: expect.any(String),
    });
    const { items } = await documentOf("org", "list");
    expect(items).toContainEqual(made);
    expect(await documentOf("org", "suspend", made.id)).toEqual({
      ...made,
      suspended_at: expect.any(String),
    });
    expect((await waymark("org", "list")).stdout).toMatch(
      new RegExp(`${made.id} +contractor +suspended +Übermut & Co\n`),
    );
    expect(await documentOf("org", "restore", "Übermut & Co")).toEqual(made);
    expect(await waymark("org", "suspend", made.id)).toMatchObject({
      code: 0,
      stdout: "Übermut & Co is suspended.\n",
    });
  });

  it("suspend and restore are kept account of, with the reason", async () => {
    const { id } = await documentOf("org", "create", "--name", "Accounted", "--type", "agent");
    await waymark("org", "suspend", id, "--reason", "unpaid");
    await waymark("org", "restore", id);
    const acts = await database().query(
      sql`select action, actor, details from audit_entry where subject = ${id} order by id`,
    );
    expect(acts).toEqual([
      { action: "organization.suspended", actor: "system", details: { reason: "unpaid" } },
      { action: "organization.restored", actor: "system", details: null },
    ]);
  });
});

describe("key", () => {
  it("create issues a key with what was asked for, list shows all but the secret", async () => {
    const wanted = "key create --org Acme --name n --scopes jobs:read,jobs:write --expires 2099-12-31";
    const issued = await documentOf(...wanted.split(" "), "--cidr", "10.0.0.0/8", "192.0.2.7");
    const { key, ...shown } = issued;
    expect(key).toMatch(/^wmk_[0-9a-z]{8}_[\w-]{49}$/);
    expect(shown).toEqual({
      id: expect.stringMatching(/^key_[0-9A-Z]{26}$/),
      starts_with: key.slice(0, 12),
      organization_id: expect.stringMatching(/^org_/),
      name: "n",
      scopes: ["jobs:read", "jobs:write"],
      cidrs: ["10.0.0.0/8", "192.0.2.7/32"],
      created_by: "cli",
      created_at: expect.any(String),
      expires_at: "2100-01-01T00:00:00.000Z",
      revoked_at: null,
      last_used_at: null,
    });
    expect((await documentOf("key", "list", "--org", "Acme")).items).toContainEqual(shown);
    expect((await documentOf("key", "list", "--org", "Swift Couriers")).items).toEqual([]);
    const listed = await waymark("key", "list");
    expect(listed.stdout).toMatch(
      new RegExp(`${shown.id} +wmk_\\w{8} +active +Acme +n +jobs:read,jobs:write\n`),
    );
    expect(listed.stdout + listed.stderr).not.toContain(key);
  });

  it("create takes an instant or a number of days to expire, and the two scopes of a partner by default", async () => {
    const [instant, days] = await Promise.all([
      documentOf("key", "create", "--org", "Acme", "--expires", "2099-06-01T12:00:00+02:00"),
      documentOf("key", "create", "--org", "Acme", "--expires", "90d"),
    ]);
    expect(instant.expires_at).toBe("2099-06-01T10:00:00.000Z");
    expect(Math.round((Date.parse(days.expires_at) - Date.now()) / 86_400_000)).toBe(90);
    expect(days.scopes).toEqual(["jobs:read", "jobs:write"]);
  });

  it("revoke ends a key named by its id, its 8 characters or the whole of it", async () => {
    const issued = await Promise.all([1, 2, 3, 4].map(() => documentOf("key", "create", "--org", "Acme")));
    const names = [issued[0].id, issued[1].starts_with.slice(4), issued[2].starts_with, issued[3].key];
    for (const [at, name] of names.entries()) {
      expect(await documentOf("key", "revoke", name)).toMatchObject({
        id: issued[at].id,
        revoked_at: expect.any(String),
      });
    }
    expect(await waymark("key", "revoke", names[0])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("is revoked"),
    });
  });

  it("docs/operations.md shows a prefix that a key can have", async () => {
    const guide = await readFile("docs/operations.md", "utf8");
    const { starts_with: prefix } = await documentOf("key", "create", "--org", "Acme");
    const example = /key revoke (wmk_\w+)/.exec(guide)?.[1] ?? "";
    for (const text of [example, prefix]) expect(text).toMatch(/^wmk_[0-9a-z]{8}$/);
  });

  it("update sets, lifts and resets the limits of a key, and leaves the others", async () => {
    const { id } = await documentOf("key", "create", "--org", "Acme");
    const limitsAfter = async (...limits: string[]) =>
      (await documentOf("key", "update", id, ...limits.flatMap((limit) => ["--limit", limit]))).rate_limits;
    expect(await limitsAfter("read=10/20", "batch=none")).toEqual({
      read: { perSecond: 10, burst: 20 },
      batch: null,
    });
    expect(await limitsAfter("read=default")).toEqual({ batch: null });
    expect(await limitsAfter("write=0.5/1")).toEqual({ batch: null, write: { perSecond: 0.5, burst: 1 } });
    expect(await limitsAfter("batch=default", "write=default")).toBeNull();
    for (const wrong of ["read", "all=1/1", "read=0/1", "read=1/0", "read=1"])
      expect(await waymark("key", "update", id, "--limit", wrong)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("read=10/20"),
      });
  });

  it("rotate issues a new key, and keeps the old one for the hours asked for", async () => {
    const old = await documentOf("key", "create", "--org", "Acme", "--scopes", "jobs:read");
    const rotated = await documentOf("key", "rotate", old.id, "--keep-hours", "2");
    expect(rotated).toMatchObject({
      key: expect.stringMatching(/^wmk_/),
      scopes: ["jobs:read"],
      expires_at: null,
    });
    expect(rotated.replaces.id).toBe(old.id);
    expect(Math.round((Date.parse(rotated.replaces.expires_at) - Date.now()) / 3_600_000)).toBe(2);
    await waymark("key", "revoke", old.id);
    expect(await waymark("key", "rotate", old.id)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("revoked key"),
    });
  });
});
