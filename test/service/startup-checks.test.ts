/** What a start asks of its database: beside workers that go on, where PostgreSQL does not tell everything, and on a standby. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { entities } from "../../src/app/entities.ts";
import { StartupError } from "../../src/platform/errors.ts";
import { uuidV7Sql } from "../../src/platform/ids.ts";
import { migrateDatabase } from "../../src/platform/postgres/migrate.ts";
import { raw, sql } from "../../src/platform/postgres/sql.ts";
import { createStartupCheck } from "../../src/restore/startup-checks.ts";
import { storedIdentity, readIdentity, type DatabaseIdentity } from "../../src/restore/database-identity.ts";
import type { RecoveryResult } from "../../src/restore/restore.service.ts";
import { expectData } from "../support/app/assertions.ts";
import { patchJob } from "../support/app/job-client.ts";
import { testSecretBox } from "../support/test-secret.ts";
import { startReplicatedPostgres } from "../support/database/standby.fixture.ts";
import type { TestApp } from "../support/app/app.fixture.ts";
import { openTransaction, waitForBlockedSessions } from "../support/database/blocked-sessions.ts";
import { startDispatcherFixture, type DispatcherFixture } from "../support/webhooks/dispatcher.fixture.ts";

let rig: DispatcherFixture;
let app: TestApp;
beforeAll(async () => {
  rig = await startDispatcherFixture();
  ({ app } = rig);
  await rig.createEndpoint({ url: "http://127.0.0.1:9/" });
});
afterAll(() => rig[Symbol.asyncDispose]());

/** What a process does at its start; answers with what it had to do. */
async function admit(url = app.databaseUrl): Promise<RecoveryResult[]> {
  const told: RecoveryResult[] = [];
  await migrateDatabase(
    { url, poolSize: 2, entities },
    {
      afterMigrate: createStartupCheck({
        openBox: async () => testSecretBox,
        onRecovered: (recovery) => told.push(recovery),
      }),
    },
  );
  return told;
}

const waiting = (): Promise<{ id: string; marked: boolean }[]> =>
  app.database.query(
    raw("select id, after_restore as marked from webhook_delivery where status = 'pending' order by id"),
  );

describe("after a failover, beside workers that went on", () => {
  let number = "";
  beforeEach(async () => {
    await admit();
    await app.database.query(raw("delete from webhook_delivery"));
    [number = ""] = await app.createJobs(rig.agent, [{}, {}]);
    await app.database.query(raw("update database_identity set timeline = timeline + 1"));
  });

  it("a start waits for what their turns hold, marks what then still waits, and lets jobs be changed meanwhile", async () => {
    const [ended, again] = await waiting();
    const turn = await openTransaction(
      app.database,
      sql`update webhook_delivery set attempts = 1, due_at = now() + interval '1 hour' where id = ${again?.id}`,
      sql`update webhook_delivery set status = 'delivered', finished_at = now() where id = ${ended?.id}`,
    );
    const admitted = admit();
    await waitForBlockedSessions(app.database, 1);
    expectData(await patchJob(app, rig.agent, number, { weight: 1 }));
    await turn.commit();

    expect(await admitted).toHaveLength(1);
    expect(await waiting()).toContainEqual({ id: again?.id, marked: true });
    expect(await admit()).toEqual([]);
  });

  it("a start marks some at a time, and holds none of the others", async () => {
    await app.database.query(sql`
      insert into webhook_delivery (id, endpoint_id, event_id, event_type, job_id)
      select ${uuidV7Sql}, endpoint_id, event_id, event_type, job_id
      from (select * from webhook_delivery where status = 'pending' limit 1) one, generate_series(1, 1000)`);
    const newest = (await waiting()).at(-1)?.id;
    const turn = await openTransaction(
      app.database,
      sql`update webhook_delivery set attempts = 1 where id = ${newest}`,
    );
    const admitted = admit();
    await waitForBlockedSessions(app.database, 1);
    expect((await waiting()).filter(({ marked }) => marked).length).toBeGreaterThan(0);
    await turn.commit();
    expect(await admitted).toMatchObject([{ deliveriesFlagged: 1002 }]);
  });
});

describe("where PostgreSQL does not tell everything", () => {
  it("nothing is asked that the role may not ask", async () => {
    const place = await app.database.transaction(async (tx) => {
      await tx.query(
        raw(`
        create role waymark_asks_little;
        revoke execute on function pg_control_system(), pg_current_wal_lsn(), pg_walfile_name(pg_lsn) from public;
        set local role waymark_asks_little`),
      );
      return await readIdentity(tx);
    }, "rollback");
    expect(place).toMatchObject({ systemIdentifier: null, timeline: null });
  });

  it.each(["pg_control_system()", "pg_walfile_name(pg_lsn)"])(
    "a start without %s goes on and forgets nothing of what is known",
    async (asked) => {
      await admit();
      const known = await storedIdentity(app.database);
      const hidden = asked.replace(/^\w+/, "hidden_one");
      await app.database.query(raw(`alter function pg_catalog.${asked} rename to hidden_one`));
      try {
        expect(await admit()).toEqual([]);
      } finally {
        await app.database.query(raw(`alter function pg_catalog.${hidden} rename to ${asked.split("(")[0]}`));
      }
      expect(known).toEqual({
        systemIdentifier: expect.stringMatching(/^\d+$/),
        databaseOid: expect.stringMatching(/^\d+$/),
        timeline: 1,
      } satisfies Record<keyof DatabaseIdentity, unknown>);
      expect(await storedIdentity(app.database)).toEqual(known);
    },
  );

  it("a timeline that was not known is learnt, and is no failover", async () => {
    await admit();
    const known = await storedIdentity(app.database);
    await app.database.query(raw("update database_identity set timeline = 0, system_identifier = null"));
    expect(await admit()).toEqual([]);
    expect(await storedIdentity(app.database)).toEqual(known);
  });
});

it("a start writes nothing where nothing is new", async () => {
  await admit();
  const written = raw("select xmin, xmax from database_identity");
  const before = await app.database.query(written);
  await admit();
  expect(await app.database.query(written)).toEqual(before);
});

it("a start on a standby says that it is none to start on", async () => {
  await using postgres = await startReplicatedPostgres();
  await admit(postgres.url);
  const standby = await postgres.addStandby();
  const refusal = await admit(standby.url).catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(StartupError);
  expect(refusal).toMatchObject({
    message: expect.stringContaining("is a standby"),
    hint: expect.stringContaining("DATABASE_URL"),
  });
});
