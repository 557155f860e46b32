/** Checks the guide on webhooks: its receivers run, its examples are valid, its tables match the code. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readEnv } from "../../src/config/env.ts";
import { eventTypes } from "../../src/events/api.ts";
import { IN_FLIGHT_LIMITS, RATE_LIMITS } from "../../src/webhooks/endpoints/entity.ts";
import { MAX_ENDPOINTS } from "../../src/webhooks/endpoints/service.ts";
import type { OutcomeClass } from "../../src/webhooks/dispatcher/lease.ts";
import { DEFAULT_SCHEDULE_TEXT, parseSchedule } from "../../src/platform/retry-schedule.ts";
import { newSecret, sign } from "../../src/webhooks/signing/signature.ts";
import { TEST_EVENT_TYPE } from "../../src/webhooks/deliveries/test-event.ts";
import { schemaViolations, contract } from "../support/app/openapi-contract.ts";
import {
  findSkipReason,
  documentedReceivers,
  startDocumentedReceiver,
} from "../support/webhooks/documented-receivers.ts";
import { codeBlocks, readPage, tableRows } from "../support/docs/guide-pages.ts";
import { createTestDatabase, type TestDatabase } from "../support/database/test-database.ts";

const events = readPage("guide/webhooks/events.md");
const verify = readPage("guide/webhooks/verify.md");
const reliability = readPage("guide/webhooks/reliability.md");
const troubleshooting = readPage("guide/webhooks/troubleshooting.md");

/** Returns the fenced blocks of a language, in order. */
function blocksIn(page: string, language: string): string[] {
  return codeBlocks(page)
    .filter((block) => block.language === language)
    .map(({ text }) => text);
}

/** Returns the only element for which `fits` is true. */
function onlyBlock(page: string, language: string, fits: (text: string) => boolean): string {
  const matches = blocksIn(page, language).filter(fits);
  expect(matches).toHaveLength(1);
  return matches[0] as string;
}

const secret = newSecret();
const body = '{"id": "evt_1", "type": "job.updated",  "town": "Tromsø 🚚"}';

interface Sent {
  secrets?: string[];
  /** In seconds from now. */
  madeS?: number;
  sentBody?: string;
  headers?: Record<string, string | null>;
  signature?: (own: string) => string;
}

/** Sends a request like our sender, with changes, and returns the status. */
async function post(
  url: string,
  { secrets = [secret], madeS = 0, sentBody = body, headers = {}, signature = (own) => own }: Sent = {},
): Promise<number> {
  const [id, timestampS] = ["evt_1", Math.floor(Date.now() / 1000) + madeS];
  const all = {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": String(timestampS),
    "webhook-signature": signature(sign(secrets, { id, timestampS, body })),
    ...headers,
  };
  const present = Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== null);
  const response = await fetch(url, { method: "POST", headers: present, body: sentBody });
  return response.status;
}

const [accepted, rejected] = [204, 400];
/** Requests to a receiver, and the status that it must return. */
const cases: Record<string, [Sent, number]> = {
  "a good signature": [{}, accepted],
  "the second of two signatures": [{ secrets: [newSecret(), secret] }, accepted],
  "one among others that it does not know": [{ signature: (own) => `v1a,AAAA v1,AAAA ${own}` }, accepted],
  "a timestamp of four minutes ago": [{ madeS: -240 }, accepted],
  "another secret's signature": [{ secrets: [newSecret()] }, rejected],
  "a signature cut short": [{ signature: (own) => own.slice(0, -4) }, rejected],
  "a signature of another version": [{ signature: (own) => own.replace("v1,", "v2,") }, rejected],
  "no signature": [{ headers: { "webhook-signature": null } }, rejected],
  "no id": [{ headers: { "webhook-id": null } }, rejected],
  "another id": [{ headers: { "webhook-id": "evt_2" } }, rejected],
  "a timestamp of six minutes ago": [{ madeS: -360 }, rejected],
  "a timestamp six minutes ahead": [{ madeS: 360 }, rejected],
  "a timestamp in words": [{ headers: { "webhook-timestamp": "yesterday" } }, rejected],
  "a changed body": [{ sentBody: body.replace("evt_1", "evt_3") }, rejected],
  "a body written again": [{ sentBody: JSON.stringify(JSON.parse(body)) }, rejected],
};

describe("the receiver in", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "waymark-docs-"));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it.for(documentedReceivers)(
    "$name accepts only our recent requests",
    { timeout: 240_000 },
    async (receiver, { skip }) => {
      const own = join(folder, receiver.name.replaceAll(" ", "-"));
      await mkdir(own);
      const { language, usesPackage } = receiver;
      const block = onlyBlock(verify, language, (text) => text.includes("standardwebhooks") === usesPackage);
      await writeFile(join(own, receiver.file), block);
      const obstacle = await findSkipReason(receiver, own);
      skip(obstacle !== null, `skipped: ${obstacle}`);

      const url = await startDocumentedReceiver(receiver, { folder: own, secret });
      const responses: Record<string, number> = {};
      for (const [name, [sent]] of Object.entries(cases)) responses[name] = await post(url, sent);
      const wanted = Object.entries(cases).map(([name, [, status]]) => [name, status]);
      expect(responses).toEqual(Object.fromEntries(wanted));
    },
  );
});

/** Default and allowed values of a setting of endpoints. */
function withRange({ min, max, default: value }: typeof IN_FLIGHT_LIMITS | typeof RATE_LIMITS): string {
  return `${value}; you can set ${min} to ${max.toLocaleString("en")}`;
}

describe("the pages on webhooks", () => {
  it("have a test vector that matches our signature", () => {
    const vector = Object.fromEntries(
      [...verify.matchAll(/^\| `?(secret|webhook-\w+|body)`? \| `(.*)` \|$/gm)].map(([, name, value]) => [
        name,
        value,
      ]),
    );
    const message = {
      id: vector["webhook-id"],
      timestampS: Number(vector["webhook-timestamp"]),
      body: vector["body"],
    };
    expect(vector["webhook-signature"]).toMatch(/^v1,[A-Za-z0-9+/]{43}=$/);
    expect(sign([vector["secret"]], message)).toBe(vector["webhook-signature"]);
  });

  it("have one example per event that matches the OpenAPI document", () => {
    const bodies = blocksIn(events, "json").map((text) => JSON.parse(text) as { id: string; type: string });
    const types = [...eventTypes, TEST_EVENT_TYPE];
    expect(bodies.map(({ type }) => type).toSorted()).toEqual(types.toSorted());
    expect(new Set(bodies.map(({ id }) => id)).size).toBe(types.length);
    for (const example of bodies) {
      const media = contract.webhooks[example.type]?.post?.requestBody?.content["application/json"];
      expect(schemaViolations(media!.schema, example)).toEqual([]);
    }
  });

  it("have the times of the default schedule", () => {
    const parsed = parseSchedule(DEFAULT_SCHEDULE_TEXT);
    const schedule = "schedule" in parsed ? parsed.schedule : [];
    let sinceMs = 0;
    const rows = schedule.map((delayMs, index) => {
      sinceMs += delayMs;
      return index === 0 ? ["1", "none", ""] : [String(index + 1), inWords(delayMs), inWords(sinceMs)];
    });
    expect(tableRows(reliability, "Attempt")).toEqual(rows);
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

  it("have the limits of the code", () => {
    const limits = Object.fromEntries(tableRows(reliability, "What"));
    expect(limits).toMatchObject({
      "Requests in flight to one endpoint": withRange(IN_FLIGHT_LIMITS),
      "Requests to one endpoint per second": withRange(RATE_LIMITS),
      "Endpoints of an organisation": String(MAX_ENDPOINTS),
    });
    expect(reliability).toContain(
      `for the retention time of the service: ${readEnv({}).RETENTION_DAYS} days by default`,
    );
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
