/** Checks the guide on webhooks: its examples are valid, its tables match the code. */
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventTypes } from "../../src/events/api.ts";
import { rootFieldSections } from "../../src/guide/api-sections.ts";
import { IN_FLIGHT_LIMITS, RATE_LIMITS } from "../../src/webhooks/endpoints/entity.ts";
import { MAX_ENDPOINTS } from "../../src/webhooks/endpoints/service.ts";
import type { OutcomeClass } from "../../src/webhooks/dispatcher/lease.ts";
import { retryPolicies } from "../../src/webhooks/retry-policy.ts";
import { DEFAULT_SCHEDULE_TEXT, parseSchedule } from "../../src/core/retry-schedule.ts";
import { sign } from "../../src/webhooks/dispatcher/sign-and-send.ts";
import { PING_TYPE } from "../../src/webhooks/deliveries/view.ts";
import { schemaViolations, contract } from "../support/app/openapi-contract.ts";
import { blocksIn, onlyBlock, readPage, tableRows, testVectorOf } from "../support/docs/guide-pages.ts";
import { createTestDatabase, type TestDatabase } from "../support/database/test-database.ts";

const events = readPage("guide/webhooks/events.md");
const verify = readPage("guide/webhooks/verify.md");
const endpoints = readPage("guide/webhooks/endpoints.md");
const reliability = readPage("guide/webhooks/reliability.md");
const troubleshooting = readPage("guide/webhooks/troubleshooting.md");

const vector = testVectorOf(verify);

/** Default and allowed values of a setting of endpoints. */
function withRange({ min, max, default: value }: typeof IN_FLIGHT_LIMITS | typeof RATE_LIMITS): string {
  return `${value}; you can set ${min} to ${max.toLocaleString("en")}`;
}

describe("the pages on webhooks", () => {
  it("have a test vector that matches our signature", () => {
    const message = {
      id: String(vector["webhook-id"]),
      timestampS: Number(vector["webhook-timestamp"]),
      body: String(vector["body"]),
    };
    expect(vector["webhook-signature"]).toMatch(/^v1,[A-Za-z0-9+/]{43}=$/);
    expect(sign([String(vector["secret"])], message)).toBe(vector["webhook-signature"]);
  });

  it("have a command that sends the test vector", () => {
    const command = onlyBlock(verify, "sh", (text) => text.includes("webhook-id"));
    for (const name of ["webhook-id", "webhook-timestamp", "webhook-signature"])
      expect(command).toContain(`-H '${name}: ${vector[name]}'`);
    expect(command).toContain(`--data-binary '${vector["body"]}'`);
  });

  it("have one example per event that matches the OpenAPI document", () => {
    const bodies = blocksIn(events, "json").map((text) => JSON.parse(text) as { id: string; type: string });
    const types = [...eventTypes, PING_TYPE];
    expect(bodies.map(({ type }) => type).toSorted()).toEqual(types.toSorted());
    expect(new Set(bodies.map(({ id }) => id)).size).toBe(types.length);
    for (const example of bodies) {
      const media = contract.webhooks[example.type]?.post?.requestBody?.content["application/json"];
      expect(schemaViolations(media!.schema, example)).toEqual([]);
    }
  });

  it("have the times of the default schedule", () => {
    const schedule = parseSchedule(DEFAULT_SCHEDULE_TEXT) ?? [];
    let sinceMs = 0;
    const rows = schedule.map((delayMs, index) => {
      sinceMs += delayMs;
      return index === 0 ? ["1", "none", ""] : [String(index + 1), inWords(delayMs), inWords(sinceMs)];
    });
    expect(tableRows(reliability, "Attempt")).toEqual(rows);
    const delays = Object.values(retryPolicies(schedule)).map((policy) =>
      ["none", ...policy.schedule.slice(1).map(inWords)].join(", "),
    );
    expect(tableRows(readPage("guide/test-mode.md"), "Rule")).toContainEqual([
      "Delays before the ten attempts",
      ...delays,
    ]);
  });

  it("describe exactly the existing outcomes", () => {
    const known: Record<Exclude<OutcomeClass, `http_${number}`>, true> = {
      delivered: true,
      dns: true,
      connect_refused: true,
      connect_timeout: true,
      tls: true,
      timeout: true,
      reset: true,
      blocked_address: true,
      invalid_response: true,
    };
    const documented = tableRows(troubleshooting, "Outcome").map(([name]) => name);
    expect(documented).toHaveLength(Object.keys(known).length + 1);
    expect(new Set(documented)).toEqual(new Set([...Object.keys(known), "http_NNN"]));
  });

  it("name a field of GraphQL for each REST operation of webhooks", () => {
    const rows = tableRows(endpoints, "REST");
    const operations = Object.entries(contract.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(new Set(rows.map(([rest]) => rest))).toEqual(
      new Set(operations.filter((name) => name.includes(" /v1/webhook-"))),
    );
    const fields = Object.keys(rootFieldSections);
    expect(rows.filter(([, field = ""]) => !fields.includes(field.split(" ")[0] ?? ""))).toEqual([]);
  });

  it("have the limits of the code", () => {
    const limits = Object.fromEntries(tableRows(reliability, "What"));
    expect(limits).toMatchObject({
      "Requests in flight to one endpoint": withRange(IN_FLIGHT_LIMITS),
      "Requests to one endpoint per second": withRange(RATE_LIMITS),
      "Endpoints of an organisation": `${MAX_ENDPOINTS.live}, and ${MAX_ENDPOINTS.test} in test mode`,
    });
  });
});

describe("their SQL", () => {
  let database: TestDatabase;
  let client: pg.Client;
  beforeAll(async () => {
    database = await createTestDatabase();
    client = new pg.Client(database.url);
    await client.connect();
    for (const table of blocksIn(reliability, "sql").filter((text) => text.startsWith("create table")))
      await client.query(table);
  });
  afterAll(async () => {
    await client.end();
    await database[Symbol.asyncDispose]();
  });

  it("accepts an event once and reports duplicates", async () => {
    const insert = onlyBlock(reliability, "sql", (text) => text.includes("insert into webhook_inbox"));
    const counts = [];
    for (const id of ["evt_1", "evt_2", "evt_1"])
      counts.push((await client.query(insert, [id, "{}"])).rows.length);
    expect(counts).toEqual([1, 1, 0]);
  });

  it("stores the latest state of a job, in any order of events", async () => {
    const upsert = onlyBlock(reliability, "sql", (text) => text.includes("insert into delivery_job"));
    for (const sequence of [2, 1, 5, 3, 5]) await client.query(upsert, ["job_1", sequence, { sequence }]);
    const { rows } = await client.query("select * from delivery_job");
    expect(rows).toEqual([{ id: "job_1", sequence: 5, job: { sequence: 5 } }]);
  });
});

/** Formats whole minutes: `2 h 35 min`. */
function inWords(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes === 0) return `${ms / 1000} s`;
  const parts = [
    [Math.floor(minutes / 60), "h"],
    [minutes % 60, "min"],
  ] as const;
  return parts.flatMap(([count, unit]) => (count > 0 ? [`${count} ${unit}`] : [])).join(" ");
}
