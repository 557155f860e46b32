/** Migrations of a database in use, and of a later version. */
import { readFile } from "node:fs/promises";
import { Migration } from "@mikro-orm/migrations";
import pg from "pg";
import { expect, it, onTestFinished, vi } from "vitest";
import { entities } from "../../../src/app/entities.ts";
import { migrateDatabase } from "../../../src/core/postgres/migrate.ts";
import { createTestDatabase } from "../../support/database/test-database.ts";
import { eventually } from "../../support/eventually.ts";

const NEXT = "20991231000000-next-note";

/** A migration that needs an exclusive lock on a table. */
class NextNote extends Migration {
  override name = NEXT;

  override up(): void {
    this.addSql("alter table job_event add column next_note text;");
  }
}

async function openDatabase(): Promise<string> {
  const { url, ...database } = await createTestDatabase();
  onTestFinished(() => database[Symbol.asyncDispose]());
  return url;
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client(url);
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

it("retries a migration while its table is in use, without blocking other statements for long", async () => {
  const url = await openDatabase();
  const [reader, other] = [await connect(url), await connect(url)];
  await reader.query("begin");
  await reader.query("select from job_event limit 1");

  const onLockWait = vi.fn<(message: string) => void>();
  const applied = migrateDatabase({ url, poolSize: 2, entities }, { onLockWait, migrationsList: [NextNote] });
  await eventually(async () => {
    const { rowCount } = await other.query(
      "select from pg_locks where relation = 'job_event'::regclass and not granted",
    );
    expect(rowCount).toBe(1);
  });
  // The reader's transaction is still open. This statement waits behind the migration until its lock timeout.
  await other.query("select from job_event limit 1");
  await eventually(() => expect(onLockWait).toHaveBeenCalledOnce());
  await reader.query("commit");
  expect(await applied).toEqual([NEXT]);
  await other.query("select next_note from job_event limit 1");
});

it("accepts a database that a later version has migrated", async () => {
  const url = await openDatabase();
  const client = await connect(url);
  await client.query("insert into mikro_orm_migrations (name) values ($1)", [NEXT]);
  expect(await migrateDatabase({ url, poolSize: 2, entities })).toEqual([]);
});

it("makes the members of an organisation and the invited ones dispatchers", async () => {
  const url = await openDatabase();
  const client = await connect(url);
  const name = "20261129140000-four-roles";
  const changelog = await readFile(new URL("../../../CHANGELOG.md", import.meta.url), "utf8");
  const rollBack = /```sql\n(?<statements>[^`]*four-roles[^`]*)```/.exec(changelog)?.groups?.["statements"];
  expect(rollBack).toContain(name);
  await client.query(`${rollBack}
    insert into organization (id, name, type) values ('00000000-0000-7000-8000-000000000001', 'Agency', 'agent');
    insert into user_account (id, name, email, role, organization_id)
      select gen_random_uuid(), role, role || '@test.example', role,
        case when role <> 'operator' then '00000000-0000-7000-8000-000000000001'::uuid end
      from unnest(array['owner', 'member', 'operator']) role;
    insert into invitation (id, organization_id, email, role, invited_by, invited_at)
      select gen_random_uuid(), organization_id, email, role, 'test', now() from user_account;`);

  expect(await migrateDatabase({ url, poolSize: 2, entities })).toEqual([name]);
  for (const table of ["user_account", "invitation"]) {
    const { rows } = await client.query(
      `select split_part(email, '@', 1) as was, role from ${table} order by email`,
    );
    expect(rows).toEqual([
      { was: "member", role: "dispatcher" },
      { was: "operator", role: "operator" },
      { was: "owner", role: "owner" },
    ]);
    await expect(client.query(`update ${table} set role = 'member'`)).rejects.toThrow(`${table}_role_check`);
  }
});
