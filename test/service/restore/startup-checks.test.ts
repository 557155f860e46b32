/** The startup check: beside running workers, and with functions of PostgreSQL that are missing or not allowed. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { uuidV7Sql } from "../../../src/core/ids.ts";
import { raw, sql } from "../../../src/core/postgres/sql.ts";
import type { RestoreResult } from "../../../src/restore/service.ts";
import {
  storedIdentity,
  readIdentity,
  type DatabaseIdentity,
} from "../../../src/restore/database-identity.sql.ts";
import { expectData } from "../../support/app/assertions.ts";
import { patchJob } from "../../support/app/job-client.ts";
import { runStartupCheck } from "../../support/database/startup-check.ts";
import type { TestApp } from "../../support/app/app.fixture.ts";
import { openTransaction, waitForBlockedSessions } from "../../support/database/blocked-sessions.ts";
import { startDispatcherFixture, type DispatcherFixture } from "../../support/webhooks/dispatcher.fixture.ts";

let rig: DispatcherFixture;
let app: TestApp;
beforeAll(async () => {
  rig = await startDispatcherFixture();
  ({ app } = rig);
  await rig.createEndpoint({ url: "http://127.0.0.1:9/" });
});
afterAll(() => rig[Symbol.asyncDispose]());

const start = (): Promise<RestoreResult[]> => runStartupCheck(app.databaseUrl);

const pendingDeliveries = (): Promise<{ id: string; marked: boolean }[]> =>
  app.database.query(
    raw("select id, after_restore as marked from webhook_delivery where status = 'pending' order by id"),
  );

describe("after a failover, beside running workers", () => {
  let number = "";
  beforeEach(async () => {
    await start();
    await app.database.query(raw("delete from webhook_delivery"));
    [number = ""] = await app.createJobs(rig.agent, [{}, {}]);
    await app.database.query(raw("update database_identity set timeline = timeline + 1"));
  });

  it("waits for the leases of workers, flags the deliveries that are still pending, and does not block changes of jobs", async () => {
    const [ended, again] = await pendingDeliveries();
    const lease = await openTransaction(
      app.database,
      sql`update webhook_delivery set attempts = 1, due_at = now() + interval '1 hour' where id = ${again?.id}`,
      sql`update webhook_delivery set status = 'delivered', finished_at = now() where id = ${ended?.id}`,
    );
    const started = start();
    await waitForBlockedSessions(app.database, 1);
    expectData(await patchJob(app, rig.agent, number, { weight: 1 }));
    await lease.commit();

    expect(await started).toHaveLength(1);
    expect(await pendingDeliveries()).toContainEqual({ id: again?.id, marked: true });
    expect(await start()).toEqual([]);
  });

  it("flags deliveries in chunks and locks only the current chunk", async () => {
    await app.database.query(sql`
      insert into webhook_delivery (id, endpoint_id, event_id, event_type, job_id)
      select ${uuidV7Sql}, endpoint_id, event_id, event_type, job_id
      from (select * from webhook_delivery where status = 'pending' limit 1) one, generate_series(1, 1000)`);
    const newest = (await pendingDeliveries()).at(-1)?.id;
    const lease = await openTransaction(
      app.database,
      sql`update webhook_delivery set attempts = 1 where id = ${newest}`,
    );
    const started = start();
    await waitForBlockedSessions(app.database, 1);
    expect((await pendingDeliveries()).filter(({ marked }) => marked).length).toBeGreaterThan(0);
    await lease.commit();
    expect(await started).toMatchObject([{ deliveriesFlagged: 1002 }]);
  });
});

describe("with limited access to PostgreSQL", () => {
  it("calls only functions that the role may execute", async () => {
    const identity = await app.database.transaction(async (tx) => {
      await tx.query(
        raw(`
        create role waymark_limited_role;
        revoke execute on function pg_control_system(), pg_current_wal_lsn(), pg_walfile_name(pg_lsn) from public;
        set local role waymark_limited_role`),
      );
      return await readIdentity(tx);
    }, "rollback");
    expect(identity).toMatchObject({ systemIdentifier: null, timeline: 0 });
  });

  it.each(["pg_control_system()", "pg_walfile_name(pg_lsn)"])(
    "starts without %s and keeps the stored identity",
    async (signature) => {
      await start();
      const known = await storedIdentity(app.database);
      const hidden = signature.replace(/^\w+/, "hidden_function");
      await app.database.query(raw(`alter function pg_catalog.${signature} rename to hidden_function`));
      try {
        expect(await start()).toEqual([]);
      } finally {
        await app.database.query(
          raw(`alter function pg_catalog.${hidden} rename to ${signature.split("(")[0]}`),
        );
      }
      expect(known).toMatchObject({
        systemIdentifier: expect.stringMatching(/^\d+$/),
        databaseOid: expect.stringMatching(/^\d+$/),
        timeline: 1,
      } satisfies Record<keyof DatabaseIdentity, unknown>);
      expect(await storedIdentity(app.database)).toEqual(known);
    },
  );

  it("stores a timeline that was unknown, without treating it as a failover", async () => {
    await start();
    const known = await storedIdentity(app.database);
    await app.database.query(raw("update database_identity set timeline = 0, system_identifier = null"));
    expect(await start()).toEqual([]);
    expect(await storedIdentity(app.database)).toEqual(known);
  });
});
