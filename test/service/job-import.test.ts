import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { entities } from "../../src/entities.ts";
import { createJobCodes } from "../../src/jobs/job.codes.ts";
import { exportJobs, type ExportQuery } from "../../src/jobs/job.export.ts";
import { jobFieldNames, type JobPatch } from "../../src/jobs/job.fields.ts";
import {
  importJobs,
  type ImportCounts,
  type ImportOptions,
  type ImportServices,
  type RowFailure,
} from "../../src/jobs/job.import.ts";
import { readRows, type FileFormat } from "../../src/jobs/job.import.rows.ts";
import { upsertRows, type JobUpsert } from "../../src/jobs/job.upsert.ts";
import { createOrganizationService } from "../../src/organizations/organization.service.ts";
import { openDatabase, type Database } from "../../src/platform/database.ts";
import { newUuid, toTypedId } from "../../src/platform/ids.ts";
import { systemActor } from "../../src/platform/principal.ts";
import { sql } from "../../src/platform/sql.ts";
import { createTestDatabase, type TestDatabase } from "../support/test-database.ts";

let testDatabase: TestDatabase;
let database: Database;
let services: ImportServices;
const organization = { agent: "", rival: "", contractor: "", other: "" };

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openDatabase({ url: testDatabase.url, poolSize: 4, entities });
  const organizations = createOrganizationService({ database });
  services = {
    database,
    codes: createJobCodes(database),
    organizations,
    announce: () => undefined,
    happened: () => undefined,
  };
  organization.agent = (await organizations.create({ name: "Agent Ä, Ltd", type: "agent" })).id;
  organization.rival = (await organizations.create({ name: "Rival", type: "agent" })).id;
  organization.contractor = (await organizations.create({ name: "Swift", type: "contractor" })).id;
  organization.other = (await organizations.create({ name: "Other", type: "contractor" })).id;
});

afterAll(async () => {
  await database[Symbol.asyncDispose]();
  await testDatabase[Symbol.asyncDispose]();
});

interface Result {
  counts: ImportCounts;
  failures: RowFailure[];
  chunks: number;
}

const context = { actor: systemActor, requestId: null };
const byAgent = { agent: "Agent Ä, Ltd" };

async function importFile(
  file: string | Uint8Array,
  options: Partial<ImportOptions> = byAgent,
  format: FileFormat = "csv",
): Promise<Result> {
  const result: Result = {
    counts: { created: 0, updated: 0, unchanged: 0, failed: 0 },
    failures: [],
    chunks: 0,
  };
  const rows = readRows(bytesOf(file), { format, needsAgent: options.agent === undefined });
  for await (const { counts, failures } of importJobs(services, rows, {
    dryRun: false,
    ...context,
    ...options,
  })) {
    for (const name of Object.keys(counts) as (keyof ImportCounts)[]) result.counts[name] += counts[name];
    result.failures.push(...failures);
    result.chunks += 1;
  }
  return result;
}

/** In small pieces, as a slow pipe would bring it. */
async function* bytesOf(file: string | Uint8Array): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(file);
  for (let at = 0; at < bytes.length; at += 1_021) yield bytes.subarray(at, at + 1_021);
}

const importNdjson = (rows: readonly unknown[], options: Partial<ImportOptions> = byAgent): Promise<Result> =>
  importFile(
    rows.map((row) => (typeof row === "string" ? row : JSON.stringify(row))).join("\n"),
    options,
    "ndjson",
  );

/** `[line, field, message]` of every problem. */
const problemsOf = ({ failures }: Result) =>
  failures.flatMap(({ line, problems }) => problems.map(({ field, message }) => [line, field, message]));

const countsOf = ({ counts: { created, updated, unchanged, failed } }: Result) => [
  created,
  updated,
  unchanged,
  failed,
];

async function jobOf(markingNumber: string): Promise<Record<string, unknown>> {
  const [job] = await database.query<Record<string, unknown>>(
    sql`select * from job where marking_number = ${markingNumber}`,
  );
  return job ?? {};
}

let made = 0;
/** A Marking Number of this test's own. */
const newNumber = (): string => `IMP-${(made += 1)}`;

async function makeJob(patch: JobPatch = {}, rest: Partial<JobUpsert> = {}): Promise<string> {
  const markingNumber = newNumber();
  const upsert = { markingNumber, agentId: organization.agent, patch, ...rest };
  await database.transaction((tx) => upsertRows(tx, [upsert], context));
  return markingNumber;
}

async function exported(query: ExportQuery): Promise<string> {
  let file = "";
  for await (const { text } of exportJobs(database, query)) file += text;
  return file;
}

const countsInDatabase = () =>
  database.query(sql`
    select (select count(*) from job) as jobs, (select sum(version) from job) as versions,
      (select count(*) from job_event) as events, (select coalesce(sum(change), 0) from job_count_change) as counted`);

describe("an import", () => {
  it("makes the jobs that are not there, changes those that are, and counts both and the rest", async () => {
    const [known, same, fresh] = [await makeJob(), await makeJob({ weight: 2 }), newNumber()];
    const result = await importFile(`marking_number,weight\n${known},1\n${same},2\n${fresh},3\n`);
    expect(countsOf(result)).toEqual([1, 1, 1, 0]);
    expect(await jobOf(fresh)).toMatchObject({
      weight: 3,
      agent_id: organization.agent,
      normalized_status: "pending",
      version: 1,
    });
    expect(await jobOf(known)).toMatchObject({ weight: 1, version: 2 });
    expect(await jobOf(same)).toMatchObject({ version: 1 });
  });

  it("takes every column, in any order", async () => {
    const number = newNumber();
    const header =
      "provider_status,scheduled_delivery_pending,scheduled_delivery_date,failure_reason,normalized_status,instructions," +
      "scheduled_date,postal_code,delivery_address,recipient_contact,recipient_name,weight,pts,labels,piece_quantity," +
      "group_code,batch_number,contractor,agent,marking_number";
    const row = `"At the hub, east",true,2026-11-25,other,failed,i,0001-01-01,p,d,c,"n\nm",-1.5e3,0.1,l,7,g,b,Swift,"Agent Ä, Ltd",${number}`;
    expect(countsOf(await importFile(`\uFEFF${header}\r\n${row}\r\n`, {}))).toEqual([1, 0, 0, 0]);
    expect(await jobOf(number)).toMatchObject({
      agent_id: organization.agent,
      contractor_id: organization.contractor,
      batch_number: "b",
      group_code: "g",
      piece_quantity: 7,
      labels: "l",
      pts: 0.1,
      weight: -1500,
      recipient_name: "n\nm",
      recipient_contact: "c",
      delivery_address: "d",
      postal_code: "p",
      scheduled_date: "0001-01-01",
      instructions: "i",
      normalized_status: "failed",
      failure_reason: "other",
      scheduled_delivery_date: "2026-11-25",
      scheduled_delivery_pending: true,
      provider_status: "At the hub, east",
    });
  });

  it("leaves a job's field alone where the column is absent, clears it where the cell is empty", async () => {
    const number = await makeJob({ labels: "l", instructions: "i", weight: 1 }, { providerStatus: "s" });
    await importFile(`marking_number,labels,weight\n${number},,\n`);
    expect(await jobOf(number)).toMatchObject({
      labels: null,
      weight: null,
      instructions: "i",
      provider_status: "s",
    });
  });

  it("tells an empty string in quotes from an empty cell, where a string can be", async () => {
    const number = newNumber();
    await importFile(`marking_number,labels,instructions,weight,contractor\n"${number}","",,"",""\n`);
    expect(await jobOf(number)).toMatchObject({
      labels: "",
      instructions: null,
      weight: null,
      contractor_id: null,
    });
  });

  it("records each change as an event of the system, an assignment as one of its own", async () => {
    const number = newNumber();
    await importFile(`marking_number,contractor\n${number},Swift\n`);
    await importFile(`marking_number,normalized_status\n${number},completed\n`);
    const events = await database.query(sql`
      select type, actor_type, sequence from job_event where job_id = ${(await jobOf(number))["id"]} order by sequence`);
    expect(events).toEqual([
      { type: "job.created", actor_type: "system", sequence: 1 },
      { type: "job.assigned", actor_type: "system", sequence: 2 },
      { type: "job.status_changed", actor_type: "system", sequence: 3 },
    ]);
  });

  it("applies a Marking Number that comes again in order, so that the last row wins", async () => {
    const [number, other] = [newNumber(), newNumber()];
    const result = await importFile(
      `marking_number,weight,labels\n${number},1,a\n${other},9,z\n${number},2,a\n${number},2,a\n${number},3,b\n`,
    );
    expect(countsOf(result)).toEqual([2, 2, 1, 0]);
    expect(await jobOf(number)).toMatchObject({ weight: 3, labels: "b", version: 3 });
  });

  it("goes in by the thousand rows, each reported once it is there", async () => {
    const numbers = Array.from({ length: 2_500 }, newNumber);
    const bad = `${newNumber()},x`;
    const lines = numbers.map((number) => `${number},1`).toSpliced(2_100, 0, bad);
    const result = await importFile(`marking_number,weight\n${lines.join("\n")}`);
    expect(result.chunks).toBe(3);
    expect(countsOf(result)).toEqual([2_500, 0, 0, 1]);
    expect(problemsOf(result)).toEqual([[2_102, "weight", "must be a number or null"]]);
  });

  it("takes NDJSON with the same names as keys", async () => {
    const [one, two] = [newNumber(), newNumber()];
    const result = await importNdjson([
      `\uFEFF${JSON.stringify({ marking_number: one, labels: "", weight: 1e21, contractor: toTypedId("org", organization.contractor) })}`,
      "  ",
      `${JSON.stringify({ marking_number: two, agent: "Rival", scheduled_delivery_pending: true })}\r`,
    ]);
    expect(countsOf(result)).toEqual([2, 0, 0, 0]);
    expect(await jobOf(one)).toMatchObject({
      labels: "",
      weight: 1e21,
      contractor_id: organization.contractor,
    });
    expect(await jobOf(two)).toMatchObject({
      agent_id: organization.rival,
      scheduled_delivery_pending: true,
    });
  });
});

describe("organisations in a file", () => {
  it("are named by id or exact name", async () => {
    const [one, two] = [newNumber(), newNumber()];
    const id = toTypedId("org", organization.agent);
    const result = await importFile(
      `marking_number,agent\n${one},${id}\n${two},"Agent Ä, Ltd"\n${newNumber()},"agent ä, ltd"\n`,
      {},
    );
    expect(countsOf(result)).toEqual([2, 0, 0, 1]);
    expect(problemsOf(result)).toEqual([[4, "agent", 'There is no organisation "agent ä, ltd"']]);
  });

  it("must be of the type that the column asks for", async () => {
    const result = await importFile(`marking_number,agent,contractor\n${newNumber()},Swift,Rival\n`, {});
    expect(problemsOf(result)).toEqual([
      [2, "agent", '"Swift" is a contractor, not an agent'],
      [2, "contractor", '"Rival" is an agent, not a contractor'],
    ]);
  });

  it("are stood in for where a row names no agent, and where the file has no contractors", async () => {
    const [one, two, three] = [newNumber(), newNumber(), newNumber()];
    const options = { agent: "Rival", contractor: "Swift" };
    await importFile(`marking_number,agent\n${one},\n${two},"Agent Ä, Ltd"\n`, options);
    await importFile(`marking_number,contractor\n${three},\n`, options);
    expect(await jobOf(one)).toMatchObject({
      agent_id: organization.rival,
      contractor_id: organization.contractor,
    });
    expect(await jobOf(two)).toMatchObject({
      agent_id: organization.agent,
      contractor_id: organization.contractor,
    });
    expect(await jobOf(three)).toMatchObject({ contractor_id: null });
  });

  it("take a job away from its contractor where the cell is empty, and leave it where the column is absent", async () => {
    const number = await makeJob({}, { contractorId: organization.contractor });
    await importFile(`marking_number,weight\n${number},1\n`);
    expect(await jobOf(number)).toMatchObject({ contractor_id: organization.contractor });
    await importFile(`marking_number,contractor\n${number},\n`);
    expect(await jobOf(number)).toMatchObject({ contractor_id: null });
    expect(countsOf(await importFile(`marking_number,contractor\n${number},Other\n`))).toEqual([0, 1, 0, 0]);
  });

  it("that stand in are refused before any row where they are not there or of the other type", async () => {
    await expect(importFile("marking_number\nX\n", { agent: "Nobody" })).rejects.toThrow(
      'no organisation "Nobody"',
    );
    await expect(importFile("marking_number\nX\n", { ...byAgent, contractor: "Rival" })).rejects.toThrow(
      "not a contractor",
    );
  });

  it("cannot be missing: an agent is named by each row or for the whole import", async () => {
    const missing = "is missing, and none was given for the whole import";
    expect(problemsOf(await importFile(`marking_number,agent\n${newNumber()},""\n`, {}))).toEqual([
      [2, "agent", missing],
    ]);
    expect(problemsOf(await importNdjson([{ marking_number: newNumber() }], {}))).toEqual([
      [1, "agent", missing],
    ]);
  });
});

describe("a row that fails", () => {
  const soundCells: Record<string, string> = {
    piece_quantity: "1",
    weight: "1",
    scheduled_date: "2026-01-01",
    scheduled_delivery_pending: "true",
    normalized_status: "pending",
  };

  it.each([
    ["marking_number", "must be a string", ""],
    ["marking_number", "must not be empty", '""'],
    ["marking_number", "must be at most 120 characters", "x".repeat(121)],
    ["piece_quantity", "must be an integer or null", "3.0"],
    ["piece_quantity", "must be an integer or null", "1e2"],
    ["piece_quantity", "must be an integer or null", " 3"],
    ["piece_quantity", "must be at least 1", "0"],
    ["piece_quantity", "must be at most 2147483647", "2147483648"],
    ["weight", "must be a number or null", "heavy"],
    ["weight", "must be a number or null", "0x10"],
    ["weight", "must be a number or null", "1e400"],
    ["weight", "must be a number or null", "NaN"],
    ["weight", "must be a number or null", '"1,5"'],
    ["scheduled_date", "must be a calendar date, YYYY-MM-DD", "2026-02-30"],
    ["scheduled_date", "must be a calendar date, YYYY-MM-DD", "24/11/2026"],
    ["scheduled_delivery_pending", "must be true or false", "TRUE"],
    ["scheduled_delivery_pending", "must be true or false", ""],
    ["normalized_status", "must be a string", ""],
    ["normalized_status", 'is not a known status ("done"); GET /v1/reference/statuses lists them', "done"],
    ["postal_code", "must be at most 60 characters", "𝒳".repeat(61)],
    ["recipient_name", "must not contain U+0000", "a\0b"],
    ["provider_status", "must be at most 255 characters", "x".repeat(256)],
  ])("is told by line, field and reason: %s %s", async (field, message, cell) => {
    const fine = newNumber();
    const number = field === "marking_number" ? "" : `${newNumber()},`;
    const header = field === "marking_number" ? "marking_number,labels" : `marking_number,${field},labels`;
    const rest = field === "marking_number" ? "" : `${soundCells[field] ?? "text"},`;
    const result = await importFile(`${header}\n${number}${cell},x\n${fine},${rest}x\n`);
    expect(problemsOf(result)).toEqual([[2, field, message]]);
    expect(countsOf(result)).toEqual([1, 0, 0, 1]);
  });

  it("is told with every problem it has, and with its Marking Number", async () => {
    const number = newNumber();
    const { failures } = await importNdjson([
      { marking_number: number, weight: "1", piece_quantity: 0, agent: 7, id: "job_1", wieght: 1 },
    ]);
    expect(failures).toEqual([
      {
        line: 1,
        markingNumber: number,
        problems: [
          { field: "id", message: "is not a column of jobs" },
          { field: "wieght", message: "is not a column of jobs; did you mean weight?" },
          { field: "agent", message: "must be a string" },
          { field: "piece_quantity", message: "must be at least 1" },
          { field: "weight", message: "must be a number or null" },
        ],
      },
    ]);
  });

  it("is told by the physical line it starts on, after cells with line ends of every kind", async () => {
    const header = "marking_number,labels,weight";
    const result = await importFile(
      `${header}\r\n${newNumber()},"a\r\nb\nc\rd",1\r\n\r\n${newNumber()},"x\ny",?\r\n${newNumber()},,?`,
    );
    expect(problemsOf(result).map(([line]) => line)).toEqual([7, 9]);
  });

  it("is one with more or fewer cells than the header", async () => {
    const result = await importFile(
      `marking_number,weight\n${newNumber()}\n${newNumber()},1,2\n${newNumber()},1\n`,
    );
    expect(problemsOf(result)).toEqual([
      [2, null, "has 1 cells where the header has 2"],
      [3, null, "has 3 cells where the header has 2"],
    ]);
    expect(countsOf(result)).toEqual([1, 0, 0, 2]);
  });

  it("is one that is malformed, and the lines after it go in", async () => {
    const [one, two] = [newNumber(), newNumber()];
    const result = await importFile(`marking_number,labels\nA,"open\n${one},"fine"\nB,12" pipe\n${two},x\n`);
    expect(problemsOf(result)).toEqual([
      [2, null, "has text after a closing quote"],
      [4, null, "has a quote inside a cell that is not quoted"],
    ]);
    expect(countsOf(result)).toEqual([2, 0, 0, 2]);
  });

  it("is one that is not UTF-8: nothing is guessed", async () => {
    const latin1 = Buffer.from(
      `marking_number,recipient_name\n${newNumber()},Zo\u00EB\n${newNumber()},Zoe\n`,
      "latin1",
    );
    const result = await importFile(latin1);
    expect(problemsOf(result)).toEqual([[2, "recipient_name", "is not valid UTF-8"]]);
    expect(countsOf(result)).toEqual([1, 0, 0, 1]);
    const json = Buffer.concat([
      Buffer.from('{"marking_number":"'),
      Buffer.from([0xff]),
      Buffer.from('"}\n'),
    ]);
    expect(problemsOf(await importFile(json, byAgent, "ndjson"))).toEqual([[1, null, "is not valid UTF-8"]]);
  });

  it("is not one where only a column that is left out is not UTF-8", async () => {
    const number = newNumber();
    const latin1 = Buffer.from(`No,Zo\u00EB\n${number},Zo\u00EB\n`, "latin1");
    const rows = readRows(bytesOf(latin1), {
      format: "csv",
      needsAgent: false,
      columns: new Map([["No", "marking_number"]]),
    });
    const reports = await Array.fromAsync(
      importJobs(services, rows, { dryRun: false, ...context, ...byAgent }),
    );
    expect(reports.map(({ counts }) => counts)).toEqual([
      { created: 1, updated: 0, unchanged: 0, failed: 0 },
    ]);
    expect((await jobOf(number))["marking_number"]).toBe(number);
  });

  it("is a line of NDJSON that is no object, and the lines after it go in", async () => {
    const result = await importNdjson([
      "{",
      "[]",
      "null",
      '"x"',
      "7",
      { marking_number: newNumber() },
      '{"marking_number":"\\ud800"}',
    ]);
    expect(problemsOf(result)).toEqual([
      [1, null, "is not valid JSON"],
      [2, null, "is not a JSON object"],
      [3, null, "is not a JSON object"],
      [4, null, "is not a JSON object"],
      [5, null, "is not a JSON object"],
      [7, "marking_number", "must not contain a lone surrogate"],
    ]);
    expect(countsOf(result)).toEqual([1, 0, 0, 6]);
  });

  it("is one with the Marking Number of another agent's job, which is left alone", async () => {
    const number = await makeJob({ weight: 5 }, { agentId: organization.rival });
    const result = await importFile(`marking_number,weight,contractor\n${number},9,Swift\n`);
    expect(problemsOf(result)).toEqual([[2, "marking_number", "belongs to a job of another agent"]]);
    expect(await jobOf(number)).toMatchObject({ weight: 5, contractor_id: null, version: 1 });
  });

  it("is one that the database refuses, alone", async () => {
    await database.query(sql`alter table job add constraint no_lead check (labels <> 'lead')`);
    const numbers = Array.from({ length: 40 }, newNumber);
    const rows = numbers.map((number, at) => `${number},${at === 7 || at === 30 ? "lead" : "gold"}`);
    // The second time round for a number whose first row was refused.
    const result = await importFile(
      `marking_number,labels\n${rows.join("\n")}\n${numbers[7]},tin\n${numbers[0]},lead\n`,
    );
    await database.query(sql`alter table job drop constraint no_lead`);
    expect(countsOf(result)).toEqual([39, 0, 0, 3]);
    expect(result.failures.map(({ line }) => line)).toEqual([9, 32, 43]);
    expect(result.failures[0]?.problems[0]?.message).toMatch(/^is refused by the database: .*no_lead/);
    expect(await jobOf(numbers[7] ?? "")).toMatchObject({ labels: "tin" });
    expect(await jobOf(numbers[0] ?? "")).toMatchObject({ labels: "gold", version: 1 });
  });
});

describe("a CSV header", () => {
  it.each([
    ["marking_number,wieght\n", 'The column "wieght" is not a column of jobs; did you mean weight?'],
    ["Marking Number\n", 'The column "Marking Number" is not a column of jobs; did you mean marking_number?'],
    ["marking_number,id\n", 'The column "id" is not a column of jobs'],
    ["marking_number,\n", 'The column "" is not a column of jobs'],
    ["marking_number,weight,weight\n", 'The column "weight" stands twice in the header'],
    ["weight\n", "The header has no column marking_number"],
    ["marking_number;weight\n", "The header is a single cell: columns are set apart by commas"],
    ['marking_number,"weight\n', "The header opens a quote that is never closed"],
    ["", "The file is empty: its first line names the columns"],
  ])("that cannot be used is refused before any row: %j", async (header, message) => {
    await expect(importFile(header)).rejects.toMatchObject({ code: "BadRequestException", message });
  });

  it("without the column agent is refused where no agent is given", async () => {
    await expect(importFile("marking_number\nX\n", {})).rejects.toThrow("The header has no column agent");
  });

  it("with no row after it imports nothing", async () => {
    expect(countsOf(await importFile("marking_number\r\n"))).toEqual([0, 0, 0, 0]);
  });
});

describe("a dry run", () => {
  it("checks and counts as if done, and changes nothing", async () => {
    const [known, same, fresh] = [await makeJob(), await makeJob({ weight: 2 }), newNumber()];
    const file = `marking_number,weight\n${known},1\n${same},2\n${fresh},3\n${fresh},4\n${newNumber()},x\n`;
    const before = await countsInDatabase();
    const dry = await importFile(file, { ...byAgent, dryRun: true });
    expect(await countsInDatabase()).toEqual(before);
    expect(countsOf(dry)).toEqual([1, 2, 1, 1]);
    const { counts, failures } = await importFile(file);
    expect(dry).toMatchObject({ counts, failures });
  });
});

describe("an export", () => {
  it("has every job once, page by page, oldest first", async () => {
    const numbers = Array.from({ length: 2_300 }, newNumber);
    const [agent, ...rows] = ["Exporter", ...numbers.map((number) => `${number},Exporter`)];
    const { id } = await services.organizations.create({ name: agent, type: "agent" });
    await importFile(`marking_number,agent\n${rows.join("\n")}\n`, {});
    const lines = (await exported({ format: "csv", agentId: id })).trimEnd().split("\n").slice(1);
    expect(lines.length).toBe(2_300);
    expect(new Set(lines.map((line) => line.split(",")[0]))).toEqual(new Set(numbers));
    expect((await exported({ format: "ndjson", agentId: id })).trimEnd().split("\n").length).toBe(2_300);
  });

  it("is narrowed to an agent, a contractor and a status", async () => {
    const number = await makeJob(
      { normalized_status: "returned" },
      { agentId: organization.rival, contractorId: organization.other },
    );
    await makeJob({ normalized_status: "returned" }, { agentId: organization.rival });
    await makeJob({}, { agentId: organization.rival, contractorId: organization.other });
    const filter = { normalizedStatus: "returned" };
    const text = await exported({
      format: "ndjson",
      agentId: organization.rival,
      contractorId: organization.other,
      filter,
    });
    expect(
      text
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ).toEqual([
      {
        marking_number: number,
        agent: toTypedId("org", organization.rival),
        contractor: toTypedId("org", organization.other),
        ...Object.fromEntries(jobFieldNames.map((name) => [name, null])),
        normalized_status: "returned",
        scheduled_delivery_pending: false,
        provider_status: null,
      },
    ]);
    expect(await exported({ format: "csv", agentId: newUuid() })).toBe(
      `marking_number,agent,contractor,${jobFieldNames.join(",")},provider_status\n`,
    );
  });

  it("changes nothing when it is imported again, whatever the jobs hold", async () => {
    const nasty = [
      null,
      "",
      " ",
      '"',
      '""',
      "'",
      ",",
      ";",
      "\n",
      "\r",
      "\r\n",
      "a,b",
      "\uFEFFbom",
      "𝒳é",
      "\uFFFD",
      "=1+1",
      "-1",
      "null",
      "true",
      "\\N",
      "\u2028",
      "\t",
    ];
    const anyText = fc
      .oneof(fc.constantFrom(...nasty), fc.string({ unit: "binary", maxLength: 50 }))
      .filter((text) => text === null || !text.includes("\0"));
    const anyNumber = fc.oneof(
      fc.constantFrom(null, 1e21, 1e-7, 0.1, 5e-324, Number.MAX_VALUE, -1.5),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
    );
    const anyDate = fc.constantFrom(null, "0001-01-01", "2024-02-29", "9999-12-31");
    const anyJob = fc.record({
      suffix: anyText,
      contractorId: fc.constantFrom(null, organization.contractor),
      providerStatus: anyText,
      patch: fc.record({
        batch_number: anyText,
        group_code: anyText,
        piece_quantity: fc.option(fc.integer({ min: 1, max: 2_147_483_647 })),
        labels: anyText,
        pts: anyNumber,
        weight: anyNumber,
        recipient_name: anyText,
        recipient_contact: anyText,
        delivery_address: anyText,
        postal_code: anyText,
        scheduled_date: anyDate,
        instructions: anyText,
        normalized_status: fc.constantFrom("pending", "completed"),
        failure_reason: anyText,
        scheduled_delivery_date: anyDate,
        scheduled_delivery_pending: fc.boolean(),
      }),
    });
    const { id: agentId } = await services.organizations.create({ name: 'Nasty "Jobs"', type: "agent" });
    await fc.assert(
      fc.asyncProperty(fc.array(anyJob, { minLength: 1, maxLength: 8 }), async (jobs) => {
        await database.query(sql`delete from job where agent_id = ${agentId}`);
        const upserts = jobs.map(({ suffix, ...job }) => ({
          ...job,
          agentId,
          markingNumber: `${suffix ?? ""}${newNumber()}`,
        }));
        await database.transaction((tx) => upsertRows(tx, upserts, context));
        const rows = () => database.query(sql`select * from job where agent_id = ${agentId} order by id`);
        const before = await rows();
        for (const format of ["csv", "ndjson"] as const) {
          const result = await importFile(await exported({ format, agentId }), {}, format);
          expect(problemsOf(result)).toEqual([]);
          expect(countsOf(result)).toEqual([0, 0, jobs.length, 0]);
        }
        expect(await rows()).toEqual(before);
      }),
      { numRuns: 60 },
    );
  });

  it("makes the same jobs in a database that has none of them", async () => {
    const { id: agentId } = await services.organizations.create({ name: "Mover", type: "agent" });
    const patch = { labels: "", instructions: 'a\r\n"b"', weight: 1e21, normalized_status: "on_hold" };
    const number = await makeJob(patch, {
      agentId,
      contractorId: organization.contractor,
      providerStatus: "",
    });
    const before = await jobOf(number);
    const file = await exported({ format: "csv", agentId });
    await database.query(sql`delete from job where agent_id = ${agentId}`);
    expect(countsOf(await importFile(file, {}))).toEqual([1, 0, 0, 0]);
    const { id, created_at, updated_at, ...values } = before;
    expect(await jobOf(number)).toMatchObject(values);
    expect([id, created_at, updated_at]).not.toContain((await jobOf(number))["id"]);
  });
});
