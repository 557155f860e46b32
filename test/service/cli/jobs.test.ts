import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { sql } from "../../../src/core/postgres/sql.ts";
import { workbook } from "../../support/jobs/workbook.ts";
import { parseOutput } from "../../support/processes/cli-process.ts";
import { useCliFixture } from "../../support/processes/cli.fixture.ts";
import { eventually } from "../../support/eventually.ts";

const EXPORT_HEADER = /^marking_number,agent,contractor,batch_number,.*,provider_status\n/;

const { begin, run: waymark, runWithInput, runJson, writeTestFile, folder, database } = useCliFixture();

async function countInterruptedJobs(): Promise<number | undefined> {
  const [row] = await database().query<{ count: number }>(
    sql`select count(*)::int as count from job where marking_number like 'I-%'`,
  );
  return row?.count;
}

describe("jobs import", () => {
  it("detects CSV from the file name and prints the counts", async () => {
    const file = await writeTestFile(
      "jobs.csv",
      "marking_number,agent,contractor,weight\r\nC-1,Acme,Swift Couriers,1\r\nC-2,Acme,,2\r\n",
    );
    expect(await waymark("jobs", "import", file)).toEqual({
      code: 0,
      stdout: "2 created, 0 updated, 0 unchanged, 0 failed.\n",
      stderr: "",
    });
    expect(await runJson("jobs", "import", file, "--dry-run")).toEqual({
      dry_run: true,
      created: 0,
      updated: 0,
      unchanged: 2,
      failed: 0,
      failures: [],
      failures_omitted: 0,
    });
  });

  it("prints failed rows with line, field and reason, imports the others, and exits with 1", async () => {
    const file = await writeTestFile(
      "some.csv",
      "marking_number,weight\nF-1,1\nF-2,x\nF-3,3\n\u001B[2J,4,5\n",
    );
    const run = await waymark("jobs", "import", file, "--agent", "Acme");
    expect(run).toEqual({
      code: 1,
      stdout: "2 created, 0 updated, 0 unchanged, 2 failed.\n",
      stderr:
        "line 3 (F-2): weight: must be a number with a point, such as 8.25\nline 5: has 3 cells where the header has 2\n",
    });
    const again = await waymark("jobs", "import", file, "--agent", "Acme", "--json");
    expect(again.stderr).toBe(run.stderr);
    const problems = [{ field: "weight", message: "must be a number with a point, such as 8.25" }];
    expect(parseOutput(again, 1)).toMatchObject({
      unchanged: 2,
      failed: 2,
      failures: [
        { line: 3, marking_number: "F-2", problems },
        { line: 5, marking_number: null },
      ],
    });
  });

  // evidence: cli-control-characters-escaped
  it("escapes control characters from the file", async () => {
    const args = ["jobs", "import", "-", "--format", "ndjson", "--agent", "Acme"];
    const run = await runWithInput('{"marking_number":"\\u001b[2J","\\u0007":1}', ...args);
    expect(run.stderr).toBe(
      "line 1 (\\u{1b}[2J): \\u{7}: is not a column of jobs\n" +
        "line 1 (\\u{1b}[2J): marking_number: must not contain control characters, such as a tab or a line break\n",
    );
  });

  it("rejects an unknown column and suggests the closest one", async () => {
    const file = await writeTestFile("typo.csv", "marking_number,recipent_name\nT-1,x\n");
    const run = await waymark("jobs", "import", file, "--agent", "Acme");
    expect(run).toMatchObject({ code: 2, stdout: "" });
    expect(run.stderr).toMatch(
      /^Error: The column "recipent_name" is not a column of jobs; did you mean recipient_name\?\nKnown columns: marking_number, /,
    );
  });

  it("reads standard input if the format is given", async () => {
    const args = ["jobs", "import", "-", "--format", "ndjson", "--contractor", "Swift Couriers"];
    const row = '{"marking_number":"N-1","agent":"Acme"}\n';
    const run = await runWithInput(row + row, ...args);
    expect(run).toEqual({ code: 0, stdout: "1 created, 0 updated, 1 unchanged, 0 failed.\n", stderr: "" });
  });

  it("reads the first sheet of a workbook", async () => {
    const file = await writeTestFile(
      "jobs.XLSX",
      workbook([["marking_number", "weight"], ["X-1", 2.5], ["X-2"]]),
    );
    const run = await waymark("jobs", "import", file, "--agent", "Acme");
    expect(run).toEqual({ code: 0, stdout: "2 created, 0 updated, 0 unchanged, 0 failed.\n", stderr: "" });
    expect(await waymark("jobs", "export", "--out", "jobs.xlsx")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("name a .csv file"),
    });
  });

  // `test/long/tools/import-memory.test.ts` limits the memory.
  it("lists the first failed rows in the JSON and counts the rest", async () => {
    // More than the 2 MB of the list.
    const count = 8_000;
    const rest = "x".repeat(300);
    const rows = Array.from({ length: count }, (_, index) => `{"marking_number":"L-${index}-${rest}"}`);
    const args = ["jobs", "import", "-", "--format", "ndjson", "--agent", "Acme", "--json"];
    const run = await runWithInput(rows.join("\n"), ...args);
    const report = parseOutput(run, 1);
    expect(report).toMatchObject({ created: 0, failed: count });
    expect(report.failures.length).toBeGreaterThan(1_000);
    expect(report.failures_omitted).toBe(count - report.failures.length);
    expect(report.failures_omitted).toBeGreaterThan(0);
    expect(run.stderr.trimEnd().split("\n").length).toBe(count);
  });

  it("keeps the imported batches when interrupted, and exits with 1", async () => {
    const { stdin, signal, ended } = begin(["jobs", "import", "-", "--format", "ndjson", "--agent", "Acme"]);
    stdin.write(Array.from({ length: 1_500 }, (_, index) => `{"marking_number":"I-${index}"}\n`).join(""));
    await eventually(async () => expect(await countInterruptedJobs()).toBe(1_000));
    signal("SIGINT");
    expect(await ended).toEqual({
      code: 1,
      stdout: "",
      stderr:
        "Import stopped. Rows processed so far: 1,000 created, 0 updated, 0 unchanged, 0 failed.\nError: Interrupted\nChanges committed before the interruption are kept.\n",
    });
    expect(await countInterruptedJobs()).toBe(1_000);
  });
});

describe("jobs export", () => {
  const file = 'marking_number,labels,instructions\nE-1,"",\nE-2,"a,""b""\nc",=1+1\n';
  beforeAll(async () => {
    await waymark("org", "create", "--name", "Exporter", "--type", "agent");
    await waymark("jobs", "import", await writeTestFile("export.csv", file), "--agent", "Exporter");
  });

  it("writes CSV to standard output", async () => {
    const csv = await waymark("jobs", "export", "--agent", "Exporter");
    expect(csv).toMatchObject({ code: 0, stderr: "2 jobs exported.\n" });
    expect(csv.stdout).toMatch(EXPORT_HEADER);
    expect(csv.stdout).toMatch(/\nE-1,org_\w{26},,,,,"",,,,,,,,,pending,,,false,\n/);
    expect(csv.stdout).toMatch(/\nE-2,org_\w{26},,,,,"a,""b""\nc",,,,,,,,=1\+1,pending,,,false,\n/);
  });

  it("writes to a file in the format of its name, and prints the count with --json", async () => {
    const out = join(folder(), "out.ndjson");
    const command = "jobs export --agent Exporter --status pending --out";
    expect(await runJson(...command.split(" "), out)).toEqual({ exported: 2, format: "ndjson", out });
    expect(await waymark("jobs", "import", out)).toMatchObject({
      stdout: "0 created, 0 updated, 2 unchanged, 0 failed.\n",
    });
  });

  it("prints the jobs with --json, and rejects --json with CSV", async () => {
    const { jobs, exported } = await runJson("jobs", "export", "--agent", "Exporter");
    expect([exported, jobs.length]).toEqual([2, 2]);
    const none = await runJson("jobs", "export", "--agent", "Exporter", "--status", "returned");
    expect(none).toEqual({ jobs: [], exported: 0 });
    const csv = await waymark("jobs", "export", "--json", "--format", "csv");
    expect(parseOutput(csv, 2)).toMatchObject({ error: { code: "BadRequestException" } });
  });
});
