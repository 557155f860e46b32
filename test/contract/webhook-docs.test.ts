/** Checks the guide on webhooks: its receivers run, its examples are valid, its tables match the code. */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it, type TestContext } from "vitest";
import { readEnv } from "../../src/config/env.ts";
import { eventTypes } from "../../src/events/api.ts";
import { rootFieldSections } from "../../src/guide/api-sections.ts";
import { IN_FLIGHT_LIMITS, RATE_LIMITS } from "../../src/webhooks/endpoints/entity.ts";
import { MAX_ENDPOINTS } from "../../src/webhooks/endpoints/service.ts";
import type { OutcomeClass } from "../../src/webhooks/dispatcher/lease.ts";
import { retryPolicies } from "../../src/webhooks/retry-policy.ts";
import { DEFAULT_SCHEDULE_TEXT, parseSchedule } from "../../src/platform/retry-schedule.ts";
import { newSecret, sign } from "../../src/webhooks/signing/signature.ts";
import { TEST_EVENT_TYPE } from "../../src/webhooks/deliveries/test-event.ts";
import { schemaViolations, contract } from "../support/app/openapi-contract.ts";
import {
  findSkipReason,
  documentedReceivers,
  startDocumentedReceiver,
  type DocumentedReceiver,
} from "../support/webhooks/documented-receivers.ts";
import { codeBlocks, readPage, tableRows } from "../support/docs/guide-pages.ts";
import { createTestDatabase, type TestDatabase } from "../support/database/test-database.ts";

const events = readPage("guide/webhooks/events.md");
const verify = readPage("guide/webhooks/verify.md");
const endpoints = readPage("guide/webhooks/endpoints.md");
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

/** The rows of the test vector. */
const vector = Object.fromEntries(
  [...verify.matchAll(/^\| `?(secret|webhook-\w+|body)`? \| `(.*)` \|$/gm)].map(([, name, value]) => [
    name,
    value,
  ]),
);

const secret = newSecret();
const eventBody = '{"id": "evt_1", "type": "job.updated",  "town": "Tromsø 🚚"}';

const MAX_BYTES = 1024 * 1024;

interface Sent {
  path?: string;
  method?: string;
  secrets?: string[];
  id?: string;
  /** In seconds from now. */
  madeS?: number;
  /** What the signature covers. */
  body?: string;
  /** What is sent, if not `body`. */
  sentBody?: string;
  headers?: Record<string, string | null>;
  signature?: (own: string) => string;
}

/** Sends a request like our sender, with changes. Returns the status, or 413 if the receiver closed the connection. */
async function post(url: string, changes: Sent = {}): Promise<number> {
  const { secrets = [secret], id = "evt_1", madeS = 0, body = eventBody, headers = {} } = changes;
  const { path = "/webhooks", method = "POST", sentBody = body, signature = (own) => own } = changes;
  const timestampS = Math.floor(Date.now() / 1000) + madeS;
  const all = {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": String(timestampS),
    "webhook-signature": signature(sign(secrets, { id, timestampS, body })),
    ...headers,
  };
  const present = Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== null);
  const sent = { method, headers: present, ...(method !== "GET" && { body: sentBody }) };
  try {
    const response = await fetch(url + path, sent);
    return response.status;
  } catch (error) {
    // The receiver may close the connection before it has read a body that is too large.
    if (sentBody.length > MAX_BYTES) return 413;
    throw error;
  }
}

/** An event of this many bytes. */
function eventOf(bytes: number): string {
  const start = '{"type":"job.updated","text":"';
  return `${start}${"x".repeat(bytes - start.length - 2)}"}`;
}

const [accepted, rejected] = [204, 400];
/** Requests to a receiver, and the status that it must return. */
const cases: Record<string, [Sent, number]> = {
  "a good signature": [{}, accepted],
  "the same request again": [{}, accepted],
  "the second of two signatures": [{ secrets: [newSecret(), secret] }, accepted],
  "one among others that it does not know": [{ signature: (own) => `v1a,AAAA v1,AAAA ${own}` }, accepted],
  "a timestamp of four minutes ago": [{ madeS: -240 }, accepted],
  "a query in the URL": [{ path: "/webhooks?token=1" }, accepted],
  "another secret's signature": [{ secrets: [newSecret()] }, rejected],
  "a signature cut short": [{ signature: (own) => own.slice(0, -4) }, rejected],
  "a signature of another version": [{ signature: (own) => own.replace("v1,", "v2,") }, rejected],
  "no signature": [{ headers: { "webhook-signature": null } }, rejected],
  "no id": [{ headers: { "webhook-id": null } }, rejected],
  "another id": [{ headers: { "webhook-id": "evt_2" } }, rejected],
  "a timestamp of six minutes ago": [{ madeS: -360 }, rejected],
  "a timestamp six minutes ahead": [{ madeS: 360 }, rejected],
  "a timestamp in words": [{ headers: { "webhook-timestamp": "yesterday" } }, rejected],
  "a changed body": [{ sentBody: eventBody.replace("evt_1", "evt_3") }, rejected],
  "a body written again": [{ sentBody: JSON.stringify(JSON.parse(eventBody)) }, rejected],
  "another path": [{ path: "/" }, 404],
  "a path below": [{ path: "/webhooks/jobs" }, 404],
  "a path that begins alike": [{ path: "/webhooks2" }, 404],
  "another path and method": [{ path: "/jobs", method: "GET" }, 404],
  "another method": [{ method: "GET" }, 405],
  "another method with a body": [{ method: "PUT" }, 405],
  "a body of 1 MiB": [{ id: "evt_4", body: eventOf(MAX_BYTES) }, accepted],
  "a body larger than 1 MiB": [{ id: "evt_5", body: eventOf(MAX_BYTES + 1) }, 413],
  "another event": [{ id: "evt_6" }, accepted],
};
/** The events in `cases` that a receiver must print: each once. */
const printedIds = ["evt_1", "evt_4", "evt_6"];

describe("the receiver in", { timeout: 240_000 }, () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "waymark-docs-"));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  /** Writes the page's example into a folder of its own, after `edit`. Skips the test if it cannot run here. */
  async function prepare(
    receiver: DocumentedReceiver,
    skip: TestContext["skip"],
    edit: (code: string) => string = (code) => code,
  ): Promise<string> {
    const own = await mkdtemp(join(folder, "receiver-"));
    const { language, usesPackage } = receiver;
    const block = onlyBlock(verify, language, (text) => text.includes("standardwebhooks") === usesPackage);
    await writeFile(join(own, receiver.file), edit(block));
    const obstacle = await findSkipReason(receiver, own);
    skip(obstacle !== null, `skipped: ${obstacle}`);
    return own;
  }

  it.for(documentedReceivers)("$name accepts only our recent requests", async (receiver, { skip }) => {
    const own = await prepare(receiver, skip);
    const { url, output } = await startDocumentedReceiver(receiver, { folder: own, secret });
    const responses: Record<string, number> = {};
    for (const [name, [sent]] of Object.entries(cases)) responses[name] = await post(url, sent);
    const wanted = Object.entries(cases).map(([name, [, status]]) => [name, status]);
    expect(responses).toEqual(Object.fromEntries(wanted));
    await expect.poll(() => output().match(/evt_\d/g)).toEqual(printedIds);
  });

  it.for(documentedReceivers)("$name needs a secret", async (receiver, { skip }) => {
    const own = await prepare(receiver, skip);
    const started = startDocumentedReceiver(receiver, { folder: own, secret: "" });
    const outcome = await started.then(({ url }) => post(url), String);
    expect(String(outcome)).toMatch(receiver.startsWithoutSecret ? /^500$/ : /exited with (?!0:)/);
  });

  // The package has no setting for its tolerance.
  const withTolerance = documentedReceivers.filter(({ usesPackage }) => !usesPackage);
  it.for(withTolerance)("$name accepts the test vector if its age is allowed", async (receiver, { skip }) => {
    const own = await prepare(receiver, skip, allowAge);
    const started = { folder: own, secret: String(vector["secret"]) };
    const { url } = await startDocumentedReceiver(receiver, started);
    const command = onlyBlock(verify, "sh", (text) =>
      text.startsWith("curl -i http://127.0.0.1:9000/webhooks "),
    );
    expect(await statusOf(command, url)).toBe(accepted);
    expect(await statusOf(command.replace("Tromsø", "Tromso"), url)).toBe(rejected);
  });
});

/** Returns the example with a tolerance of 50 years. */
function allowAge(code: string): string {
  const changed = code
    .replace("5 * 60;", "50 * 365 * 24 * 60 * 60;")
    .replace(/5 \* 60$/m, "50 * 365 * 24 * 60 * 60")
    .replace("5 * time.Minute", "50 * 365 * 24 * time.Hour");
  expect(changed).not.toBe(code);
  return changed;
}

/** Runs the `curl -i` command of the page against another receiver. */
async function statusOf(command: string, url: string): Promise<number> {
  const script = command.replace("http://127.0.0.1:9000", url).replace("curl ", "curl --no-progress-meter ");
  const { stdout } = await promisify(execFile)("bash", ["-c", script]);
  return Number(/^HTTP\/1\.[01] (\d+)/.exec(stdout)?.[1]);
}

/** Default and allowed values of a setting of endpoints. */
function withRange({ min, max, default: value }: typeof IN_FLIGHT_LIMITS | typeof RATE_LIMITS): string {
  return `${value}; you can set ${min} to ${max.toLocaleString("en")}`;
}

describe("the pages on webhooks", () => {
  it("have a test vector that matches our signature", () => {
    const message = {
      id: vector["webhook-id"],
      timestampS: Number(vector["webhook-timestamp"]),
      body: vector["body"],
    };
    expect(vector["webhook-signature"]).toMatch(/^v1,[A-Za-z0-9+/]{43}=$/);
    expect(sign([vector["secret"]], message)).toBe(vector["webhook-signature"]);
  });

  it("have a command that sends the test vector", () => {
    const command = onlyBlock(verify, "sh", (text) => text.includes("webhook-id"));
    for (const name of ["webhook-id", "webhook-timestamp", "webhook-signature"])
      expect(command).toContain(`-H '${name}: ${vector[name]}'`);
    expect(command).toContain(`--data-binary '${vector["body"]}'`);
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
      "Endpoints of an organisation": String(MAX_ENDPOINTS),
    });
    expect(endpoints).toContain(
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
