/** Writing the request log in the background, and dropping old partitions. */
import { Registry } from "prom-client";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { entities } from "../../../src/app/entities.ts";
import { openDatabase, type Database } from "../../../src/core/postgres/database.ts";
import { fromTypedId, newRequestId, newUuid, uuidV7Sql, toTypedId } from "../../../src/core/ids.ts";
import { createLogger } from "../../../src/core/logger.ts";
import { raw, sql, type Sql } from "../../../src/core/postgres/sql.ts";
import { type FinishedRequest, openRequestLog, type RequestLog } from "../../../src/request-log/service.ts";
import type { RequestLogFilter } from "../../../src/request-log/read.sql.ts";
import { dailyPartitions, toUtcDay } from "../../../src/request-log/partitions.sql.ts";
import { createMissingPartitions } from "../../../src/core/postgres/partitions.ts";
import { insertRequestLogEntries } from "../../../src/request-log/write.sql.ts";
import { startFaultProxy } from "../../support/database/fault-proxy.ts";
import { DAY_MS } from "../../support/fake-clock.ts";
import { setDateOffset } from "../../support/processes/fake-date.ts";
import { createTestDatabase } from "../../support/database/test-database.ts";
import { eventually } from "../../support/eventually.ts";
import { endSharedApps } from "../../support/app/shared-app.ts";

beforeAll(endSharedApps);

const scopes = ["jobs:read"];

const resources = new AsyncDisposableStack();
let databaseUrl: string;
let database: Database;

beforeAll(async () => {
  databaseUrl = resources.use(await createTestDatabase()).url;
  database = resources.use(await openDatabase({ url: databaseUrl, poolSize: 6, entities }));
});

beforeEach(async () => {
  await database.query(raw("delete from request_log"));
  await database.query(raw("delete from request_usage"));
});

afterAll(() => resources.disposeAsync());

const organizationId = newUuid();
const keyId = newUuid();
const otherKeyId = newUuid();
const otherPartner = newUuid();

function ended(given: Partial<FinishedRequest> = {}): FinishedRequest {
  return {
    requestId: newRequestId(),
    organizationId,
    partnerId: organizationId,
    keyId,
    method: "GET",
    path: "/v1/jobs",
    status: 200,
    durationMs: 1.5,
    errorCode: null,
    requestBodyValue: undefined,
    responseBodyValue: undefined,
    simulated: null,
    ignoredParameters: [],
    ...given,
  };
}

interface OpenLog {
  log: RequestLog;
  readonly dropped: () => Promise<number>;
}

/** The log ends with the test. */
async function openLog(on = database): Promise<OpenLog> {
  const registry = new Registry();
  const parts = { registry, logger: createLogger("silent"), retentionDays: 30 };
  const log = await openRequestLog({ database: on, ...parts });
  onTestFinished(() => log[Symbol.asyncDispose]());
  return {
    log,
    async dropped() {
      const metric = await registry.getSingleMetric("waymark_request_log_entries_dropped_total")?.get();
      return metric?.values[0]?.value ?? 0;
    },
  };
}

async function countOf(table: string): Promise<number> {
  const [row] = await database.query<{ count: number }>(raw(`select count(*)::int as count from ${table}`));
  return row?.count ?? 0;
}

async function usage(): Promise<Record<string, unknown>[]> {
  return await database.query(
    raw(`select key_id, succeeded::int, refused::int, failed::int, duration_ms from request_usage
    order by succeeded desc`),
  );
}

describe("writing", () => {
  it("inserts many requests in one statement and counts them", async () => {
    await using proxy = await startFaultProxy(databaseUrl);
    await using on = await openDatabase({ url: proxy.url, poolSize: 2, entities });
    const { log } = await openLog(on);
    proxy.statements.length = 0;
    for (let index = 0; index < 300; index += 1)
      log.record(ended({ status: [200, 304, 404, 503][index % 4] ?? 0 }));
    log.record(ended({ keyId: otherKeyId, status: 201 }));
    await log.flush();
    expect(proxy.statements.filter((text) => text.includes("request_log"))).toHaveLength(1);
    expect(await countOf("request_log")).toBe(301);
    expect(await usage()).toEqual([
      { key_id: keyId, succeeded: 150, refused: 75, failed: 75, duration_ms: 450 },
      { key_id: otherKeyId, succeeded: 1, refused: 0, failed: 0, duration_ms: 1.5 },
    ]);
  });

  it("happens within seconds without a flush", async () => {
    const { log } = await openLog();
    log.record(ended());
    await expect.poll(() => countOf("request_log")).toBe(1);
  });

  it("counts no request twice if the statement's result was lost", async () => {
    const request = { ...ended(), isLogged: true, requestBody: null, responseBody: null };
    await insertRequestLogEntries(database, [request]);
    await insertRequestLogEntries(database, [request]);
    expect(await countOf("request_log")).toBe(1);
    expect(await usage()).toMatchObject([{ succeeded: 1 }]);
  });

  it("does not deadlock with processes that write for the same organisations", async () => {
    const organizations = Array.from({ length: 20 }, () => newUuid());
    const logs = await Promise.all(Array.from({ length: 4 }, () => openLog()));
    await Promise.all(
      logs.map(async ({ log }, turn) => {
        for (let round = 0; round < 10; round += 1) {
          const order = turn % 2 === 0 ? organizations : organizations.toReversed();
          for (const id of order) log.record(ended({ organizationId: id }));
          await log.flush();
        }
      }),
    );
    expect(await countOf("request_log")).toBe(800);
    expect((await usage()).every(({ succeeded }) => succeeded === 40)).toBe(true);
    expect(await Promise.all(logs.map(({ dropped }) => dropped()))).toEqual([0, 0, 0, 0]);
  });

  it("stores only bodies of failed requests, and truncates long values", async () => {
    const { log } = await openLog();
    const requestBodyValue = { weight: 1, recipient_name: "A Person" };
    log.record(ended({ requestBodyValue, responseBodyValue: { success: true } }));
    log.record(
      ended({
        status: 400,
        requestBodyValue,
        responseBodyValue: { success: false },
        path: `/v1/${"x".repeat(100_000)}`,
      }),
    );
    await log.flush();
    const rows = await database.query<{
      request_body: string | null;
      response_body: string | null;
      length: number;
    }>(raw("select request_body, response_body, length(path) as length from request_log order by status"));
    expect(rows).toEqual([
      { request_body: null, response_body: null, length: 8 },
      {
        request_body: '{"weight":1,"recipient_name":"***"}',
        response_body: '{"success":false}',
        length: 1_000,
      },
    ]);
  });
});

// evidence: request-log-flood
describe("a flood of failed requests of one partner", () => {
  it("is logged in full up to a limit, then without bodies, and its requests with 429 are only counted", async () => {
    const { log } = await openLog();
    for (let index = 0; index < 1_100; index += 1) {
      log.record(ended({ status: 400, requestBodyValue: { weight: "x" }, responseBodyValue: {} }));
      if (index % 500 === 0) await log.flush();
    }
    for (let index = 0; index < 300; index += 1) log.record(ended({ status: 429, responseBodyValue: {} }));
    log.record(ended());
    log.record(ended({ status: 429, requestBodyValue: {}, partnerId: otherPartner }));
    await log.flush();
    expect(await usage()).toMatchObject([{ succeeded: 1, refused: 1_401 }]);
    expect(await countOf("request_usage where limited = 301")).toBe(1);
    // One more for each second that the test takes.
    const logged = await countOf("request_log");
    expect(logged).toBeGreaterThanOrEqual(1_102);
    expect(logged).toBeLessThan(1_150);
    const withBody = await countOf("request_log where request_body is not null");
    expect(withBody).toBeGreaterThanOrEqual(1_001);
    expect(withBody).toBeLessThan(1_050);
  });
});

describe("while PostgreSQL is unavailable", () => {
  it("requests are buffered up to a limit, those beyond are counted, and the rest is written later", async () => {
    await using proxy = await startFaultProxy(databaseUrl);
    await using on = await openDatabase({ url: proxy.url, poolSize: 2, entities });
    const { log, dropped } = await openLog(on);
    proxy.disconnect();
    // Half of the buffer for one partner.
    for (let index = 0; index < 10_007; index += 1) log.record(ended());
    expect(await dropped()).toBe(7);
    for (let index = 0; index < 10_000; index += 1) log.record(ended({ partnerId: otherPartner }));
    expect(await dropped()).toBe(7);
    await log.flush();
    proxy.restore();
    await eventually(async () => {
      await log.flush();
      expect(await countOf("request_log")).toBe(20_000);
    });
    expect(await dropped()).toBe(7);
    expect(await usage()).toMatchObject([{ succeeded: 20_000 }]);
  });

  it("a stopping process does not wait for it, and counts lost entries", async () => {
    await using proxy = await startFaultProxy(databaseUrl);
    await using on = await openDatabase({ url: proxy.url, poolSize: 2, entities });
    const { log, dropped } = await openLog(on);
    proxy.stall();
    log.record(ended());
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const stopped = log[Symbol.asyncDispose]();
    await vi.advanceTimersByTimeAsync(5_000);
    await stopped;
    vi.useRealTimers();
    expect(await dropped()).toBe(1);
    // The statement still waits for PostgreSQL.
    const { total, idle } = on.pool();
    expect(total - idle).toBe(1);
    proxy.restore();
  });
});

async function days(): Promise<string[]> {
  const rows = await database.query<{ name: string }>(
    sql`select inhrelid::regclass::text as name from pg_inherits where inhparent = 'request_log'::regclass order by 1`,
  );
  return rows.map(({ name }) => name.replace("request_log_", ""));
}

describe("a key's requests", () => {
  it("are found on all days it was used, newest first, page by page", async () => {
    const { log } = await openLog();
    const nowMs = Date.now();
    const other = newUuid();
    const ids: string[] = [];
    for (const agoMs of [20 * 3_600_000, 3 * 3_600_000, 60_000, 0]) {
      const requestId = toTypedId("req", newUuid(nowMs - agoMs));
      ids.unshift(requestId);
      log.record(ended({ requestId }));
      log.record(ended({ requestId: toTypedId("req", newUuid(nowMs - agoMs)), keyId: other }));
    }
    await log.flush();
    const filter = { keyId: toTypedId("key", keyId) };
    const all = await log.list({ organizationId, scopes }, { filter, limit: 10, after: null });
    expect(all.items.map(({ requestId }) => requestId)).toEqual(ids);
    const first = await log.list({ organizationId, scopes }, { filter, limit: 3, after: null });
    expect(first).toMatchObject({ hasMore: true, items: { length: 3 } });
    const after = fromTypedId("req", ids[2] ?? "") ?? "";
    const second = await log.list({ organizationId, scopes }, { filter, limit: 3, after });
    expect(second.items.map(({ requestId }) => requestId)).toEqual([ids[3]]);
    expect(await log.list({ organizationId: newUuid(), scopes }, { filter, limit: 3, after: null })).toEqual({
      items: [],
      hasMore: false,
    });
  });
});

const dayOf = (agoDays: number): string => toUtcDay(Date.now() - agoDays * DAY_MS).replaceAll("-", "");
const logged = (log: RequestLog, agoDays: number): void =>
  log.record(ended({ requestId: toTypedId("req", newUuid(Date.now() - agoDays * DAY_MS)) }));

describe("daily partitions", () => {
  it("are created from yesterday to a week ahead", async () => {
    await openLog();
    const made = await days();
    for (const agoDays of [1, 0, -1, -2, -3, -4, -5, -6, -7]) expect(made).toContain(dayOf(agoDays));
  });

  it("are dropped with their counters after the retention time", async () => {
    const { log } = await openLog();
    const nowMs = Date.now();
    await createMissingPartitions(database, dailyPartitions, { fromMs: nowMs - 31 * DAY_MS, toMs: nowMs });
    logged(log, 31);
    logged(log, 30);
    await log.flush();
    expect(await usage()).toHaveLength(2);
    expect(await log.purgeExpired()).toContain(`request_log_${dayOf(31)}`);
    expect(await countOf("request_log")).toBe(1);
    expect(await usage()).toHaveLength(1);
  });

  // evidence: clock-ahead-request-log-kept
  it("are kept if a process's clock is 31 days ahead", async () => {
    const { log } = await openLog();
    logged(log, 0);
    await log.flush();
    setDateOffset(31 * DAY_MS);
    expect(await log.purgeExpired().finally(() => setDateOffset(0))).not.toContain(`request_log_${dayOf(0)}`);
    expect(await countOf("request_log")).toBe(1);
  });

  it("are searched by index with every filter", async () => {
    const { log } = await openLog();
    await database.query(sql`
      insert into request_log (id, organization_id, key_id, method, path, status, duration_ms)
      select ${uuidV7Sql}, ${organizationId}::uuid, case when n % 500 = 0 then ${keyId}::uuid else gen_random_uuid() end,
        'GET', '/v1/jobs', case when n % 100 = 0 then 404 else 200 end, 1
      from generate_series(1, 30000) n`);
    await database.query(raw("vacuum analyze request_log"));
    const plans: string[] = [];
    const explaining = {
      async query<Row>(statement: Sql): Promise<Row[]> {
        const { text, values } = statement.compile();
        const filled = text.replaceAll(
          /\$(\d+)/g,
          (_, place: string) => `'${String(values[Number(place) - 1])}'`,
        );
        const rows = await database.query<{ "QUERY PLAN": string }>(raw(`explain ${filled}`));
        plans.push(rows.map((row) => row["QUERY PLAN"]).join("\n"));
        return [];
      },
    };
    const requestId = newRequestId();
    const planOf = async (
      filter: RequestLogFilter,
      reader: string | null = organizationId,
    ): Promise<string> => {
      await log.list({ organizationId: reader, scopes }, { filter, limit: 20, after: null }, explaining);
      return plans.at(-1) ?? "";
    };
    const today = `request_log_${new Date().toISOString().slice(0, 10).replaceAll("-", "")}`;
    expect(await planOf({})).toContain(`Index Scan Backward using ${today}_pkey`);
    expect(await planOf({ requestId })).toContain(`Index Scan using ${today}_pkey`);
    expect(await planOf({ outcome: "refused" })).toContain(`using ${today}_organization_id_id_idx`);
    expect(await planOf({ requestId }, null)).toMatch(/Index Scan/);
    // A request's id determines its day.
    expect(plans[1]?.match(/request_log_\d+ log/g)).toHaveLength(1);
  });
});
