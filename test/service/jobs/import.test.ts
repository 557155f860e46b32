import { describe, expect, it } from "vitest";
import { toTypedId } from "../../../src/core/ids.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import {
  defaultAgent,
  countsOf,
  problemsOf,
  useJobImportFixture,
} from "../../support/jobs/import.fixture.ts";
import { newMarkingNumber } from "../../support/jobs/service.fixture.ts";

const {
  database,
  organization,
  notified,
  importFile,
  importNdjson,
  makeJob,
  readJob: jobOf,
} = useJobImportFixture();

const countsInDatabase = () =>
  database().query(sql`
    select (select count(*) from job) as jobs, (select sum(version) from job) as versions,
      (select count(*) from job_event) as events, (select coalesce(sum(change), 0) from job_counter_delta) as counted`);

describe("an import", () => {
  it("creates new jobs, updates existing ones and counts created, updated and unchanged rows", async () => {
    const [known, same, fresh] = [await makeJob(), await makeJob({ weight: 2 }), newMarkingNumber()];
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

  it("keeps fields of absent columns and clears fields of empty cells", async () => {
    const number = await makeJob({ labels: "l", instructions: "i", weight: 1 }, { providerStatus: "s" });
    await importFile(`marking_number,labels,weight\n${number},,\n`);
    expect(await jobOf(number)).toMatchObject({
      labels: null,
      weight: null,
      instructions: "i",
      provider_status: "s",
    });
  });

  it("reads a quoted empty cell of a text column as an empty string", async () => {
    const number = newMarkingNumber();
    await importFile(`marking_number,labels,instructions,weight,contractor\n"${number}","",,"",""\n`);
    expect(await jobOf(number)).toMatchObject({
      labels: "",
      instructions: null,
      weight: null,
      contractor_id: null,
    });
  });

  it("records each change as an event of the system, and assignments as separate events", async () => {
    const number = newMarkingNumber();
    await importFile(`marking_number,contractor\n${number},Swift\n`);
    await importFile(`marking_number,normalized_status\n${number},completed\n`);
    const events = await database().query(sql`
      select type, actor_type, sequence from job_event where job_id = ${(await jobOf(number))["id"]} order by sequence`);
    expect(events).toEqual([
      { type: "job.created", actor_type: "system", sequence: 1 },
      { type: "job.assigned", actor_type: "system", sequence: 2 },
      { type: "job.status_changed", actor_type: "system", sequence: 3 },
    ]);
  });

  it("applies repeated Marking Numbers in order, so that the last row wins", async () => {
    const [number, other] = [newMarkingNumber(), newMarkingNumber()];
    const result = await importFile(
      `marking_number,weight,labels\n${number},1,a\n${other},9,z\n${number},2,a\n${number},2,a\n${number},3,b\n`,
    );
    expect(countsOf(result)).toEqual([2, 2, 1, 0]);
    expect(await jobOf(number)).toMatchObject({ weight: 3, labels: "b", version: 3 });
  });

  it("is committed and reported in chunks of 1,000 rows", async () => {
    const numbers = Array.from({ length: 2_500 }, newMarkingNumber);
    const bad = `${newMarkingNumber()},x`;
    const lines = numbers.map((number) => `${number},1`).toSpliced(2_100, 0, bad);
    const result = await importFile(`marking_number,weight\n${lines.join("\n")}`);
    expect(result.chunks).toBe(3);
    expect(countsOf(result)).toEqual([2_500, 0, 0, 1]);
    expect(problemsOf(result)).toEqual([[2_102, "weight", "must be a number with a point, such as 8.25"]]);
  });

  it("accepts NDJSON with the same names as keys", async () => {
    const [one, two] = [newMarkingNumber(), newMarkingNumber()];
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
  it("are found by id or exact name", async () => {
    const [one, two] = [newMarkingNumber(), newMarkingNumber()];
    const id = toTypedId("org", organization.agent);
    const result = await importFile(
      `marking_number,agent\n${one},${id}\n${two},"Agent Ä, Ltd"\n${newMarkingNumber()},"agent ä, ltd"\n`,
      {},
    );
    expect(countsOf(result)).toEqual([2, 0, 0, 1]);
    expect(problemsOf(result)).toEqual([[4, "agent", 'There is no organisation "agent ä, ltd"']]);
  });

  // evidence: import-organization-type-checked
  it("must have the type of the column", async () => {
    const result = await importFile(
      `marking_number,agent,contractor\n${newMarkingNumber()},Swift,Rival\n`,
      {},
    );
    expect(problemsOf(result)).toEqual([
      [2, "agent", '"Swift" is a contractor, not an agent'],
      [2, "contractor", '"Rival" is an agent, not a contractor'],
    ]);
  });

  it("default to the options if a row has no agent or the file has no contractor column", async () => {
    const [one, two, three] = [newMarkingNumber(), newMarkingNumber(), newMarkingNumber()];
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

  it("unassign a job if the contractor cell is empty, but not if the column is absent", async () => {
    const number = await makeJob({}, { contractorId: organization.contractor });
    await importFile(`marking_number,weight\n${number},1\n`);
    expect(await jobOf(number)).toMatchObject({ contractor_id: organization.contractor });
    await importFile(`marking_number,contractor\n${number},\n`);
    expect(await jobOf(number)).toMatchObject({ contractor_id: null });
    expect(countsOf(await importFile(`marking_number,contractor\n${number},Other\n`))).toEqual([0, 1, 0, 0]);
  });

  it("given as options are checked before the first row", async () => {
    await expect(importFile("marking_number\nX\n", { agent: "Unknown" })).rejects.toThrow(
      'no organisation "Unknown"',
    );
    await expect(importFile("marking_number\nX\n", { ...defaultAgent, contractor: "Rival" })).rejects.toThrow(
      "not a contractor",
    );
  });

  it("are required to create jobs; without an agent, existing jobs of any agent are updated", async () => {
    const missing = "is missing: no job has this Marking Number, and a new job needs an agent";
    const [known, rivals] = [await makeJob(), await makeJob({}, { agentId: organization.rival })];
    const file = `marking_number,weight,contractor\n${known},7,Swift\n${newMarkingNumber()},8,Swift\n${rivals},9,\n${known},7,\n`;
    const result = await importFile(file, {});
    expect(problemsOf(result)).toEqual([[3, "agent", missing]]);
    expect(countsOf(result)).toEqual([0, 3, 0, 1]);
    expect(await jobOf(known)).toMatchObject({
      weight: 7,
      agent_id: organization.agent,
      contractor_id: null,
    });
    expect(await jobOf(rivals)).toMatchObject({ weight: 9, agent_id: organization.rival });
    expect(problemsOf(await importNdjson([{ marking_number: newMarkingNumber(), agent: null }], {}))).toEqual(
      [[1, "agent", missing]],
    );
    const empty = `marking_number,agent,weight\n${known},"",10\n${newMarkingNumber()},"",10\n`;
    expect(problemsOf(await importFile(empty, {}))).toEqual([[3, "agent", missing]]);
  });
});

it("notifies subscribers once per chunk and organisation that sees or saw a created or changed job", async () => {
  const { agent, contractor, other } = organization;
  const number = await makeJob({}, { contractorId: contractor });
  const file = `marking_number,weight\n${number},1\n${newMarkingNumber()},1\n`;
  notified.length = 0;
  await importFile(file, { ...defaultAgent, dryRun: true });
  expect(notified).toEqual([]);
  // The contractor is notified although the file does not name it.
  await importFile(file);
  await importFile(file);
  expect(notified).toEqual([[agent, contractor].toSorted()]);
  await importFile(`marking_number,contractor\n${number},Other\n`);
  expect(notified.at(-1)).toEqual([agent, contractor, other].toSorted());
  await importFile(`marking_number,weight,contractor\n${number},2,\n`);
  expect(notified.at(-1)).toEqual([agent, other].toSorted());
});

describe("a CSV header", () => {
  it.each([
    ["marking_number,wieght\n", 'The column "wieght" is not a column of jobs; did you mean weight?'],
    ["Marking Number\n", 'The column "Marking Number" is not a column of jobs; did you mean marking_number?'],
    ["marking_number,id\n", 'The column "id" is not a column of jobs'],
    ["marking_number,\n", 'The column "" is not a column of jobs'],
    ["marking_number,weight,weight\n", 'The header has the column "weight" twice'],
    ["weight\n", "The header has no column marking_number"],
    ['marking_number,"weight\n', "The header opens a quote that is never closed"],
    ["", "The file is empty; its first line must name the columns"],
  ])("is rejected before the first row if it is invalid: %j", async (header, message) => {
    await expect(importFile(header)).rejects.toMatchObject({ code: "BadRequestException", message });
  });

  it.each([";", "\t"])("may separate its columns by %j", async (separator) => {
    const number = newMarkingNumber();
    const lines = [
      ["marking_number", "weight", "instructions", "scheduled_delivery_pending"],
      [number, "2.5", '"a, b; c"', "TRUE"],
    ];
    const file = lines.map((cells) => `${cells.join(separator)}\r\n`).join("");
    expect(countsOf(await importFile(`\r\n${file}`, defaultAgent))).toEqual([1, 0, 0, 0]);
    expect(await jobOf(number)).toMatchObject({
      weight: 2.5,
      instructions: "a, b; c",
      scheduled_delivery_pending: true,
    });
  });

  it.each([
    ["dmy", "31/12/2026", "2026-12-31"],
    ["mdy", "2-1-2026", "2026-02-01"],
    ["dmy", "2026-12-31", "2026-12-31"],
  ] as const)("may write dates in the chosen order: %s, %s", async (dates, text, date) => {
    const number = newMarkingNumber();
    const file = `marking_number,scheduled_date,instructions\n${number},${text},${text}\n`;
    expect(countsOf(await importFile(file, { ...defaultAgent, dates }))).toEqual([1, 0, 0, 0]);
    expect(await jobOf(number)).toMatchObject({ scheduled_date: date, instructions: text });
  });

  it.each([
    [undefined, "31/12/2026"],
    ["mdy", "31/12/2026"],
    ["dmy", "31/12/26"],
  ] as const)("has no date in the chosen order: %s, %s", async (dates, text) => {
    const result = await importFile(`marking_number,scheduled_date\n${newMarkingNumber()},${text}\n`, {
      ...defaultAgent,
      dates,
    });
    expect(problemsOf(result)).toEqual([[2, "scheduled_date", expect.stringContaining("must be a date")]]);
  });

  it.each([
    ["Windows-1252", Buffer.from("marking_number,name\u00e9\n", "latin1")],
    ["UTF-16", Buffer.from("\uFEFFmarking_number,name\n", "utf16le")],
  ])("in %s is refused, and says how to save the file", async (_encoding, file) => {
    await expect(importFile(file)).rejects.toThrow(
      "The header is not valid UTF-8; save the file as “CSV UTF-8”",
    );
  });

  it("without rows imports nothing", async () => {
    expect(countsOf(await importFile("marking_number\r\n"))).toEqual([0, 0, 0, 0]);
  });
});

describe("a dry run", () => {
  it("validates and counts without changing anything", async () => {
    const [known, same, fresh] = [await makeJob(), await makeJob({ weight: 2 }), newMarkingNumber()];
    const file = `marking_number,weight\n${known},1\n${same},2\n${fresh},3\n${fresh},4\n${newMarkingNumber()},x\n`;
    const before = await countsInDatabase();
    const dry = await importFile(file, { ...defaultAgent, dryRun: true });
    expect(await countsInDatabase()).toEqual(before);
    expect(countsOf(dry)).toEqual([1, 2, 1, 1]);
    const { counts, failures } = await importFile(file);
    expect(dry).toMatchObject({ counts, failures });
  });
});
