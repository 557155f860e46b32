import { randomBytes } from "node:crypto";
import { request as httpRequest, type ClientRequest, type IncomingMessage } from "node:http";
import { once } from "node:events";
import { Readable } from "node:stream";
import { text as textOf } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { beforeAll, describe, expect, it } from "vitest";
import { sql } from "../../src/core/postgres/sql.ts";
import { createTestUser, signIn, type SessionClient } from "../support/accounts/session-client.ts";
import { expectFailure, expectProblems } from "../support/app/assertions.ts";
import { startAppInstance } from "../support/app/app-instance.ts";
import { useSharedApp } from "../support/app/shared-app.ts";
import { workbook } from "../support/jobs/workbook.ts";

const { app, agent, contractor } = useSharedApp();
let operator: SessionClient;
/** A UUID. */
let operatorId: string;

beforeAll(async () => {
  const user = await createTestUser(app, { organizationId: null, role: "operator" });
  operatorId = user.id;
  operator = await signIn(app, user);
});

// oxlint-disable-next-line typescript/no-explicit-any -- lines have several shapes
type Line = any;

const CSV = { "content-type": "text/csv" };
const XLSX = { "content-type": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet" };

function pathOf(query: Record<string, string> = {}): string {
  return `/console-api/imports?${new URLSearchParams(query).toString()}`;
}

/** Sends the file as the operator's page does and returns the response lines. */
async function importFile(
  file: string | Buffer,
  query: Record<string, string> = { agent: agent.name },
  headers: Record<string, string> = CSV,
): Promise<Line[]> {
  const response = await app.request(pathOf(query), {
    method: "POST",
    body: file,
    headers: { origin: app.url, cookie: operator.cookie, ...headers },
  });
  expect(response.status).toBe(200);
  expect(response.get("content-type")).toBe("application/x-ndjson; charset=utf-8");
  const text = response.text;
  return text
    .trimEnd()
    .split("\n")
    .map((line): Line => JSON.parse(line));
}

function send(
  browser: SessionClient,
  file: string,
  query: Record<string, string> = { agent: agent.name },
  headers = CSV,
) {
  return browser.call(pathOf(query), { method: "POST", body: file, headers });
}

/** Starts an upload, whose file the test writes. */
function openUpload(
  headers: Record<string, string>,
  { url } = app as { url: string },
  cookie = operator.cookie,
): ClientRequest {
  const upload = httpRequest(url + pathOf({ agent: agent.name }), {
    method: "POST",
    headers: { ...CSV, origin: url, cookie, ...headers },
  });
  upload.on("error", () => undefined);
  return upload;
}

const MAX_BYTES = 256 * 1024 * 1024;

/** Streams a file of one row and blank lines up to `bytes`, chunked without Content-Length. */
async function streamFile(markingNumber: string, bytes: number): Promise<{ status: number; last: Line }> {
  const row = Buffer.from(`${JSON.stringify({ marking_number: markingNumber })}\n`);
  const blank = Buffer.from(`${" ".repeat(8_191)}\n`.repeat(16));
  const parts = function* (): Generator<Buffer> {
    yield row;
    for (let left = bytes - row.length; left > 0; left -= blank.length) yield blank.subarray(0, left);
  };
  const upload = openUpload({ "content-type": "application/x-ndjson" });
  const [[response]] = await Promise.all([
    once(upload, "response") as Promise<[IncomingMessage]>,
    pipeline(Readable.from(parts()), upload),
  ]);
  const lines = (await textOf(response)).trimEnd().split("\n");
  return { status: response.statusCode ?? 0, last: JSON.parse(lines.at(-1) ?? "null") };
}

let jobCount = 0;
const prefix = randomBytes(6).toString("hex");
const newNumber = (): string => `UP-${prefix}-${(jobCount += 1)}`;

async function jobOf(markingNumber: string): Promise<Record<string, unknown> | undefined> {
  const [job] = await app.database.query<Record<string, unknown>>(
    sql`select * from job where marking_number = ${markingNumber}`,
  );
  return job;
}

/** Returns the audit entries of imports since the last call. */
let seenEntries = 0;
async function audited(): Promise<{ action: string; subject: string; details: Record<string, unknown> }[]> {
  const rows = await app.database.query<{
    action: string;
    subject: string;
    details: Record<string, unknown>;
  }>(
    sql`select action, subject, details from audit_entry where action like 'import.%' and actor_id = ${operatorId} order by id offset ${seenEntries}::int`,
  );
  seenEntries += rows.length;
  return rows;
}

/** The file's own names of columns. */
const OWN_NAMES = {
  "Order no": "marking_number",
  Kilos: "weight",
  Haulier: "contractor",
  Day: "scheduled_date",
};

describe("200", () => {
  it("creates the jobs of a file, reports progress and sends a report", async () => {
    const [first, second] = [newNumber(), newNumber()];
    await audited();
    const file = `marking_number,piece_quantity\n${first},2\n${second},none\n`;
    const lines = await importFile(file, { agent: agent.name, file_name: "jobs.csv" });
    const counts = { created: 1, updated: 0, unchanged: 0, failed: 1 };
    expect(lines).toEqual([
      { type: "progress", counts, bytes: file.length },
      {
        type: "report",
        dry_run: false,
        bytes: file.length,
        counts,
        failures: [
          {
            line: 3,
            marking_number: second,
            problems: [{ field: "piece_quantity", message: "must be a whole number, such as 3" }],
            cells: [second, "none"],
          },
        ],
        failures_omitted: 0,
        stopped: null,
      },
    ]);
    expect(await jobOf(first)).toMatchObject({ agent_id: agent.id, piece_quantity: 2, version: 1 });
    const [event] = await app.database.query(
      sql`select actor_type from job_event join job on job.id = job_id where marking_number = ${first}`,
    );
    expect(event).toEqual({ actor_type: "user" });
    expect(await audited()).toEqual([
      { action: "import.started", subject: "jobs.csv", details: { format: "csv", agent: agent.name } },
      {
        action: "import.finished",
        subject: "jobs.csv",
        details: { format: "csv", agent: agent.name, ...counts },
      },
    ]);
  });

  it("maps the file's own column names and ignores other columns", async () => {
    const number = newNumber();
    const file = `Colour,Order no,Kilos,Haulier,Day,Colour\nred,${number},4.5,${contractor.name},31/12/2026,blue\n`;
    const query = { agent: agent.name, columns: JSON.stringify(OWN_NAMES), dates: "dmy" };
    const lines = await importFile(file, query);
    expect(lines.at(-1)).toMatchObject({ counts: { created: 1, failed: 0 } });
    expect(await jobOf(number)).toMatchObject({
      weight: 4.5,
      contractor_id: contractor.id,
      scheduled_date: "2026-12-31",
    });
  });

  it("reads a file in the encoding that is named", async () => {
    const number = newNumber();
    const file = Buffer.from(`marking_number;recipient_name\n${number};Caf\u00E9 \u0080\n`, "latin1");
    await importFile(file, { agent: agent.name, encoding: "windows-1252" });
    expect(await jobOf(number)).toMatchObject({ recipient_name: "Café €" });
  });

  it("reads a workbook, and names a bad row by its number", async () => {
    const [good, bad] = [newNumber(), newNumber()];
    const file = workbook([
      ["Order no", "Kilos", "Day", "Haulier"],
      [good, 4.5, new Date("2026-12-31"), contractor.name],
      [],
      [bad, "heavy"],
    ]);
    const query = { agent: agent.name, columns: JSON.stringify(OWN_NAMES) };
    const report = (await importFile(file, query, XLSX)).at(-1);
    expect(report).toMatchObject({
      counts: { created: 1, failed: 1 },
      failures: [{ line: 4, marking_number: bad, problems: [{ field: "weight" }] }],
    });
    expect(await jobOf(good)).toMatchObject({
      weight: 4.5,
      contractor_id: contractor.id,
      scheduled_date: "2026-12-31",
    });
  });

  it("has the names and first rows of a file as a sample, and imports nothing", async () => {
    const numbers = [newNumber(), newNumber()];
    const sample = { names: ["marking_number", "weight"], rows: numbers.map((number) => [number, "1"]) };
    const files = [
      [workbook([sample.names, ...numbers.map((number) => [number, 1])]), XLSX],
      [`marking_number;weight\n${numbers.map((number) => `${number};1\n`).join("")}`, CSV],
    ] as const;
    for (const [body, headers] of files) {
      const response = await app.request("/console-api/imports/sample", {
        method: "POST",
        body,
        headers: { origin: app.url, cookie: operator.cookie, ...headers },
      });
      expect(JSON.parse(response.text)).toMatchObject({ success: true, data: sample });
    }
    expect(await jobOf(numbers[0] as string)).toBeUndefined();
  });

  it("accepts NDJSON with mapped names", async () => {
    const number = newNumber();
    const row = { no: number, kilos: 2, ["__proto__"]: { weight: 9 }, other: 1 };
    const columns = JSON.stringify({ no: "marking_number", kilos: "weight" });
    const lines = await importFile(
      `${JSON.stringify(row)}\n`,
      { agent: agent.name, columns },
      { "content-type": "application/x-ndjson" },
    );
    expect(lines.at(-1)).toMatchObject({ counts: { created: 1, failed: 0 } });
    expect(await jobOf(number)).toMatchObject({ weight: 2 });
  });

  it("lists a limited number of failed rows and counts the rest", async () => {
    const names = ["piece_quantity", "weight", "pts", "scheduled_date", "scheduled_delivery_date"];
    const row = `A${",none".repeat(names.length)}\n`;
    const lines = await importFile(`marking_number,${names.join(",")}\n${row.repeat(8_000)}`);
    const { counts, failures, failures_omitted: omitted } = lines.at(-1);
    expect(counts.failed).toBe(8_000);
    expect(failures.length).toBeGreaterThan(1_000);
    expect(failures.length + omitted).toBe(8_000);
    expect(omitted).toBeGreaterThan(0);
  });

  it("imports a file of exactly 256 MB", async () => {
    const number = newNumber();
    expect(await streamFile(number, MAX_BYTES)).toMatchObject({ status: 200, last: { bytes: MAX_BYTES } });
    expect(await jobOf(number)).toBeDefined();
  });

  it("reports what was imported if a later line is malformed", async () => {
    const numbers = Array.from({ length: 1_000 }, () => newNumber());
    await audited();
    const lines = await importFile(`marking_number\n${numbers.join("\n")}\n${"x".repeat(1_200_000)}`);
    expect(lines.at(-1)).toMatchObject({
      type: "report",
      counts: { created: 1_000 },
      stopped: { code: "BadRequestException", message: expect.stringContaining("Line 1002") },
    });
    expect((await audited()).map(({ action }) => action)).toEqual(["import.started", "import.stopped"]);
  });
});

it("a client that disconnects ends the import between two chunks; imported rows stay and are audited", async () => {
  await audited();
  const numbers = Array.from({ length: 1_000 }, () => newNumber());
  const upload = openUpload({ "transfer-encoding": "chunked" });
  upload.write(`marking_number\n${numbers.join("\n")}\n`);
  const [response] = await once(upload, "response");
  await once(response, "data");
  expect(await audited()).toMatchObject([{ action: "import.started" }]);
  upload.destroy();
  await expect.poll(audited).toMatchObject([{ action: "import.stopped" }]);
  expect(await jobOf(numbers[999]!)).toBeDefined();
});

it("a stopping server reports what was imported and asks for the file again", async () => {
  const stopping = await startAppInstance(app.databaseUrl, { WAYMARK_ROLE: "api" });
  const person = await createTestUser(stopping, { organizationId: null, role: "operator" });
  const { cookie } = await signIn(stopping, person);
  const upload = openUpload({ "transfer-encoding": "chunked" }, stopping, cookie);
  const numbers = Array.from({ length: 1_000 }, () => newNumber());
  upload.write(`marking_number\n${numbers.join("\n")}\n`);
  const [response] = (await once(upload, "response")) as [IncomingMessage];
  let text = "";
  response.on("data", (chunk) => (text += String(chunk)));
  const ended = once(response, "end");
  const stopped = stopping[Symbol.asyncDispose]();
  upload.write(`${newNumber()}\n`);
  await ended;
  expect(JSON.parse(text.trimEnd().split("\n").at(-1)!)).toMatchObject({
    counts: { created: 1_000 },
    stopped: { code: "ServiceUnavailableException", message: expect.stringContaining("same file again") },
  });
  upload.end();
  await stopped;
});

describe("400", () => {
  it("for another type of organisation, and 404 for an unknown one", async () => {
    expectFailure(
      await send(operator, "marking_number\nA\n", { agent: contractor.name }),
      400,
      /is a contractor/,
    );
    expectFailure(await send(operator, "marking_number\nA\n", { agent: "Unknown" }), 404, /no organisation/);
  });

  // evidence: import-rejected-before-file-end
  it("even if most of a large file was not read", async () => {
    const file = `number\n${"A\n".repeat(4_000_000)}`;
    expectFailure(await send(operator, file), 400, /"number" is not a column/);
  });

  it("with every invalid parameter", async () => {
    const query = { agent: "x".repeat(256), dry_run: "yes", columns: "[]", dates: "ymd", encoding: "latin1" };
    expectProblems(await send(operator, "marking_number\nA\n", query), "query", [
      "agent",
      "dry_run",
      "columns",
      "dates",
      "encoding",
    ]);
    for (const columns of ['{"a":"nothing"}', '{"a":"weight","b":"weight"}', '{"a":3}', "{"]) {
      expectProblems(await send(operator, "a\n1\n", { agent: agent.name, columns }), "query", ["columns"]);
    }
  });

  it("for organisation names that cannot be stored, before any row is imported", async () => {
    const number = newNumber();
    const query = { agent: `${agent.name}\0`, contractor: "a\nb", file_name: "jobs\0.csv" };
    expectProblems(await send(operator, `marking_number\n${number}\n`, query), "query", [
      "agent",
      "contractor",
      "file_name",
    ]);
    expect(await jobOf(number)).toBeUndefined();
  });
});

// evidence: import-operators-only
it("403 for users of an organisation, including owners", async () => {
  for (const role of ["owner", "dispatcher"] as const) {
    const partner = await signIn(app, await createTestUser(app, { organizationId: agent.id, role }));
    const number = newNumber();
    expectFailure(await send(partner, `marking_number\n${number}\n`), 403, /operators/);
    const sample = { method: "POST", body: "a\n1\n", headers: CSV };
    expectFailure(await partner.call("/console-api/imports/sample", sample), 403, /operators/);
    expect(await jobOf(number)).toBeUndefined();
  }
});

it("405 for methods other than POST", async () => {
  const response = await operator.get(pathOf());
  expectFailure(response, 405);
  expect(response.headers.get("allow")).toBe("POST");
});

describe("413", () => {
  // evidence: import-limit-declared-length
  it("for a Content-Length over the limit, before the file is read", async () => {
    const upload = openUpload({ "content-length": "300000000" });
    upload.write("marking_number\n");
    const [response] = await once(upload, "response");
    expect(response.statusCode).toBe(413);
    upload.destroy();
  });

  // evidence: import-limit-streamed
  it("at the first byte over 256 MB without a Content-Length, importing no rows", async () => {
    const number = newNumber();
    expect(await streamFile(number, MAX_BYTES + 1)).toMatchObject({
      status: 413,
      last: { error: { code: "PayloadTooLargeException" } },
    });
    expect(await jobOf(number)).toBeUndefined();
  });
});

// evidence: import-file-types
it("415 for other file formats and compressed files", async () => {
  for (const type of ["application/json", "text/plain", "multipart/form-data; boundary=x"])
    expectFailure(await send(operator, "marking_number\n", {}, { "content-type": type }), 415, /text\/csv/);
  const headers = { ...CSV, "content-encoding": "gzip" };
  expectFailure(await send(operator, "marking_number\n", {}, headers), 415, /uncompressed/);
});
