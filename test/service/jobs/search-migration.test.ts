/** The migration that builds the search of jobs, on a database of the former version with jobs. */
import { setTimeout as pause } from "node:timers/promises";
import { expect, it, vi } from "vitest";
import { entities } from "../../../src/app/entities.ts";
import { migrateDatabase } from "../../../src/core/postgres/migrate.ts";
import { raw, sql } from "../../../src/core/postgres/sql.ts";
import { openJobServiceFixture } from "../../support/jobs/service.fixture.ts";
import { insertMany } from "../../support/database/test-database.ts";

/** More than two batches. */
const JOBS = 11_000;
/** Longer than the lock timeout of migrations. */
const BACKUP_MS = 5_000;
const NAME = "20261129160000-job-search";

it("fills the search of jobs, keeps newer texts, and can run again after a failure", async () => {
  await using services = await openJobServiceFixture();
  const { database, databaseUrl } = services;
  const agent = await services.createOrganization("agent");
  const forget = () => database.query(sql`delete from mikro_orm_migrations where name = ${NAME}`);
  const onLockWait = vi.fn<() => void>();
  const migrate = () => migrateDatabase({ url: databaseUrl, poolSize: 2, entities }, { onLockWait });
  const missing = async () => {
    const rows = await database.query<{ marking_number: string }>(sql`
      select marking_number from job left join job_search on job_id = id where text is distinct from
        search_text(marking_number, recipient_name, recipient_contact, delivery_address, postal_code)`);
    return rows.length;
  };

  await forget();
  await database.query(raw("drop table job_search"));
  for (const event of ["insert", "update", "delete"])
    await database.query(raw(`drop trigger job_search_${event} on job`));
  await insertMany(
    database,
    JOBS,
    (numbers) => sql`
    insert into job (id, marking_number, agent_id, recipient_name)
    select gen_random_uuid(), 'MIGRATE-' || n, ${agent.organizationId}, 'Zoë ' || n from ${numbers} n`,
  );
  expect(await migrate()).toEqual([NAME]);
  expect(await missing()).toBe(0);

  // As if the fill had stopped, and the index were invalid.
  await database.query(raw("delete from job_search where ctid in (select ctid from job_search limit 7000)"));
  await database.query(
    raw("update pg_index set indisvalid = false where indexrelid = 'job_search_tokens'::regclass"),
  );
  await database.query(sql`update job set recipient_name = 'Noor' where marking_number = 'MIGRATE-1'`);
  await forget();
  const backup = database.transaction(async (tx) => {
    await tx.query(raw("set transaction isolation level repeatable read"));
    await tx.query(raw("select count(*) from job"));
    await pause(BACKUP_MS);
  });
  expect(await migrate()).toEqual([NAME]);
  await backup;
  expect(onLockWait).not.toHaveBeenCalled();
  expect(await missing()).toBe(0);
  const [index] = await database.query<{ valid: boolean }>(
    raw("select indisvalid as valid from pg_index where indexrelid = 'job_search_tokens'::regclass"),
  );
  expect(index?.valid).toBe(true);
});
