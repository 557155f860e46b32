import type { ChildProcess } from "node:child_process";
import { on, once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { entities } from "../../src/entities.ts";
import { openDatabase, type Database } from "../../src/platform/database.ts";
import { sql } from "../../src/platform/sql.ts";
import { commandLine, endOf } from "../support/command-line.ts";
import { TEST_SECRET } from "../support/secret.ts";
import { startHolder } from "../support/embedded-processes.ts";
import { createTestDatabase, type TestDatabase } from "../support/test-database.ts";

const HEADER_OF_EXPORT = /^marking_number,agent,contractor,batch_number,.*,provider_status\n/;

let testDatabase: TestDatabase;
let database: Database;
let folder: string;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openDatabase({ url: testDatabase.url, poolSize: 2, entities });
  folder = await mkdtemp(join(tmpdir(), "waymark-cli-"));
  await waymark("org", "create", "--name", "Acme", "--type", "agent");
  await waymark("org", "create", "--name", "Swift Couriers", "--type", "contractor");
});

afterAll(async () => {
  await database[Symbol.asyncDispose]();
  await testDatabase[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const {
  start,
  run: waymark,
  documentOf,
} = commandLine(() => ({
  DATABASE_URL: testDatabase.url,
  WAYMARK_SECRET: TEST_SECRET,
  WAYMARK_DATA_DIR: join(folder, "data"),
  PORT: "0",
}));

async function fileOf(name: string, content: string | Uint8Array): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
}

describe("the command line", () => {
  it.each([["--help"], ["jobs", "import", "--help"], ["help", "key"]])(
    "shows help and succeeds: %s %s",
    async (...args) => {
      const run = await waymark(...args);
      expect(run).toMatchObject({ code: 0, stderr: "" });
      expect(run.stdout).toMatch(/^Usage: waymark/);
    },
  );

  it("tells its version", async () => {
    expect(await waymark("--version")).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    });
  });

  it("prints help and version as a document with --json", async () => {
    expect(await documentOf("--version")).toEqual({ version: expect.any(String) });
    expect(await documentOf("org", "--help")).toEqual({
      help: expect.stringContaining("Usage: waymark org"),
    });
  });

  it("takes --json before the command, too", async () => {
    const run = await waymark("--json", "org", "list");
    expect(JSON.parse(run.stdout)).toHaveProperty("items");
  });
});

describe("exit code 2, wrong use", () => {
  it.each([
    [["bogus"], "unknown command 'bogus'", "See: waymark --help"],
    [["org", "lst"], "unknown command 'lst'\n(Did you mean list?)", "See: waymark org --help"],
    [["org", "list", "--bogus"], "unknown option '--bogus'", "See: waymark org list --help"],
    [["org", "list", "extra"], "too many arguments for 'list'", "See: waymark org list --help"],
    [
      ["org", "create", "--type", "agent"],
      "required option '--name <name>' not specified",
      "org create --help",
    ],
    [
      ["org", "create", "--name", "X", "--type", "carrier"],
      "Allowed choices are agent, contractor",
      "org create --help",
    ],
    [["org", "suspend"], "missing required argument 'org'", "org suspend --help"],
    [
      ["key", "create", "--org", "Acme", "--scopes", "jobs:all"],
      "Scopes are jobs:read, jobs:write",
      "key create --help",
    ],
    [["key", "create", "--org", "Acme", "--expires", "soon"], "a day (2027-01-31)", "key create --help"],
    [
      ["key", "create", "--org", "Acme", "--expires", "2027-02-30"],
      "a day (2027-01-31)",
      "key create --help",
    ],
    [["key", "rotate", "x", "--keep-hours", "25"], "a number of hours from 0 to 24", "key rotate --help"],
    [["serve", "--role", "cook"], "Allowed choices are all, api, worker", "serve --help"],
    [["jobs", "export", "--format", "xml"], "Allowed choices are csv, ndjson", "jobs export --help"],
  ])("is told with a hint, on standard error alone: %j", async (args, message, hint) => {
    const run = await waymark(...args);
    expect(run).toMatchObject({ code: 2, stdout: "" });
    expect(run.stderr).toContain(`Error: `);
    expect(run.stderr).toContain(message);
    expect(run.stderr).toContain(hint);
    expect(run.stderr).not.toContain("    at ");
  });

  it.each([
    [["key", "create", "--org", "Acme", "--cidr", "999"], '"999" is not a CIDR range'],
    [["key", "create", "--org", "Acme", "--expires", "2020-01-01"], "The expiry is in the past"],
    [["org", "create", "--name", " ", "--type", "agent"], "An organisation needs a name"],
    [["jobs", "export", "--status", "done"], 'There is no status "done"; known are pending,'],
    [["jobs", "export", "--agent", "Swift Couriers"], '"Swift Couriers" is a contractor, not an agent'],
    [["jobs", "import", "-"], "Standard input does not tell its format"],
    [["jobs", "import", tmpdir()], "is a folder"],
  ])("is a bad value, too: %j", async (args, message) => {
    const run = await waymark(...args);
    expect(run).toMatchObject({ code: 2, stdout: "" });
    expect(run.stderr).toContain(`Error: `);
    expect(run.stderr).toContain(message);
  });

  it("is no command at all, answered with the help", async () => {
    const run = await waymark("key");
    expect(run).toMatchObject({ code: 2, stdout: "", stderr: expect.stringMatching(/^Usage: waymark key/) });
  });

  it.each([
    [["bogus"], "WrongUse", "See: waymark --help"],
    [[], "WrongUse", "See: waymark --help"],
    [["serve"], "BadRequestException", null],
    [["jobs", "export"], "BadRequestException", null],
  ])("is one document on standard output with --json: %j", async (args, code, hint) => {
    const run = await waymark(...args, "--json");
    expect(run.code).toBe(2);
    expect(JSON.parse(run.stdout)).toEqual({
      error: { code, message: expect.any(String), hint, details: null },
    });
  });
});

describe("exit code 1, it failed", () => {
  it("is told without a stack: what is not there, or is there already", async () => {
    const [missing, taken, file] = await Promise.all([
      waymark("org", "suspend", "Nobody"),
      waymark("org", "create", "--name", "Acme", "--type", "agent"),
      waymark("jobs", "import", join(folder, "none.csv")),
    ]);
    expect(missing).toEqual({
      code: 1,
      stdout: "",
      stderr:
        'Error: There is no organisation "Nobody"\n`waymark org list` and `waymark key list` show what there is.\n',
    });
    expect(taken).toEqual({
      code: 1,
      stdout: "",
      stderr: 'Error: There is an organisation named "Acme" already\n',
    });
    expect(file).toEqual({
      code: 1,
      stdout: "",
      stderr: `Error: ${join(folder, "none.csv")} is not there\n`,
    });
  });

  it("is one document on standard output with --json", async () => {
    const run = await waymark("key", "revoke", "nokey123", "--json");
    expect(run.code).toBe(1);
    expect(JSON.parse(run.stdout)).toEqual({
      error: {
        code: "NotFoundException",
        message: "There is no such key",
        hint: expect.any(String),
        details: null,
      },
    });
  });

  it("is a wrong setting or a database that is away, each with a hint", async () => {
    const [wrong, away] = await Promise.all([
      endOf(start(["org", "list"], { DATABASE_URL: "mysql://x" })),
      endOf(start(["org", "list", "--json"], { DATABASE_URL: "postgresql://127.0.0.1:1/none" })),
    ]);
    expect(wrong).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("DATABASE_URL") });
    expect(wrong.stderr).not.toContain("    at ");
    expect(away.code).toBe(1);
    expect(JSON.parse(away.stdout).error).toMatchObject({
      code: "StartupError",
      hint: expect.stringContaining("DATABASE_URL"),
    });
  });

  it("ends quietly where the reader of its output went away", async () => {
    const child = start(["jobs", "export"]);
    child.stdout?.destroy();
    const [stderr, [code]] = await Promise.all([
      text(child.stderr as NodeJS.ReadableStream),
      once(child, "close"),
    ]);
    expect([code, stderr]).toEqual([1, ""]);
  });
});

describe("migrate", () => {
  it("says what it applied: nothing where the schema is up to date", async () => {
    expect(await waymark("migrate")).toEqual({ code: 0, stdout: "The schema is up to date.\n", stderr: "" });
    expect(await documentOf("migrate")).toEqual({ applied: [] });
  });
});

describe("org", () => {
  it("create makes an organisation, list shows it, suspend and restore shut it out and let it in", async () => {
    const made = await documentOf("org", "create", "--name", "Übermut & Co", "--type", "contractor");
    expect(made).toEqual({
      id: expect.stringMatching(/^org_[0-9A-Z]{26}$/),
      name: "Übermut & Co",
      type: "contractor",
      suspended_at: null,
      created_at: expect.any(String),
    });
    const { items } = await documentOf("org", "list");
    expect(items).toContainEqual(made);
    expect(await documentOf("org", "suspend", made.id)).toEqual({
      ...made,
      suspended_at: expect.any(String),
    });
    expect((await waymark("org", "list")).stdout).toMatch(
      new RegExp(`${made.id} +contractor +suspended +Übermut & Co\n`),
    );
    expect(await documentOf("org", "restore", "Übermut & Co")).toEqual(made);
    expect(await waymark("org", "suspend", made.id)).toMatchObject({
      code: 0,
      stdout: "Übermut & Co is suspended.\n",
    });
  });

  it("suspend and restore are kept account of, with the reason", async () => {
    const { id } = await documentOf("org", "create", "--name", "Accounted", "--type", "agent");
    await waymark("org", "suspend", id, "--reason", "unpaid");
    await waymark("org", "restore", id);
    const acts = await database.query(
      sql`select action, actor, details from audit_entry where subject = ${id} order by id`,
    );
    expect(acts).toEqual([
      { action: "organization.suspended", actor: "system", details: { reason: "unpaid" } },
      { action: "organization.restored", actor: "system", details: null },
    ]);
  });
});

describe("key", () => {
  it("create issues a key with what was asked for, list shows all but the secret", async () => {
    const wanted = "key create --org Acme --name n --scopes jobs:read,jobs:write --expires 2099-12-31";
    const issued = await documentOf(...wanted.split(" "), "--cidr", "10.0.0.0/8", "192.0.2.7");
    const { key, ...shown } = issued;
    expect(key).toMatch(/^wmk_[0-9a-z]{8}_[\w-]{49}$/);
    expect(shown).toEqual({
      id: expect.stringMatching(/^key_[0-9A-Z]{26}$/),
      starts_with: key.slice(0, 12),
      organization_id: expect.stringMatching(/^org_/),
      name: "n",
      scopes: ["jobs:read", "jobs:write"],
      cidrs: ["10.0.0.0/8", "192.0.2.7/32"],
      created_by: "cli",
      created_at: expect.any(String),
      expires_at: "2100-01-01T00:00:00.000Z",
      revoked_at: null,
      last_used_at: null,
    });
    expect((await documentOf("key", "list", "--org", "Acme")).items).toContainEqual(shown);
    expect((await documentOf("key", "list", "--org", "Swift Couriers")).items).toEqual([]);
    const listed = await waymark("key", "list");
    expect(listed.stdout).toMatch(
      new RegExp(`${shown.id} +wmk_\\w{8} +active +Acme +n +jobs:read,jobs:write\n`),
    );
    expect(listed.stdout + listed.stderr).not.toContain(key);
  });

  it("create takes an instant or a number of days to expire, and all scopes by default", async () => {
    const [instant, days] = await Promise.all([
      documentOf("key", "create", "--org", "Acme", "--expires", "2099-06-01T12:00:00+02:00"),
      documentOf("key", "create", "--org", "Acme", "--expires", "90d"),
    ]);
    expect(instant.expires_at).toBe("2099-06-01T10:00:00.000Z");
    expect(Math.round((Date.parse(days.expires_at) - Date.now()) / 86_400_000)).toBe(90);
    expect(days.scopes).toEqual(["jobs:read", "jobs:write", "webhooks:manage"]);
  });

  it("revoke ends a key named by its id, its 8 characters or the whole of it", async () => {
    const issued = await Promise.all([1, 2, 3, 4].map(() => documentOf("key", "create", "--org", "Acme")));
    const names = [issued[0].id, issued[1].starts_with.slice(4), issued[2].starts_with, issued[3].key];
    for (const [at, name] of names.entries()) {
      expect(await documentOf("key", "revoke", name)).toMatchObject({
        id: issued[at].id,
        revoked_at: expect.any(String),
      });
    }
    expect(await waymark("key", "revoke", names[0])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("is revoked"),
    });
  });

  it("rotate issues a new key, and keeps the old one for the hours asked for", async () => {
    const old = await documentOf("key", "create", "--org", "Acme", "--scopes", "jobs:read");
    const rotated = await documentOf("key", "rotate", old.id, "--keep-hours", "2");
    expect(rotated).toMatchObject({
      key: expect.stringMatching(/^wmk_/),
      scopes: ["jobs:read"],
      expires_at: null,
    });
    expect(rotated.replaces.id).toBe(old.id);
    expect(Math.round((Date.parse(rotated.replaces.expires_at) - Date.now()) / 3_600_000)).toBe(2);
    await waymark("key", "revoke", old.id);
    expect(await waymark("key", "rotate", old.id)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("revoked key"),
    });
  });
});

async function interruptedJobs(): Promise<number | undefined> {
  const [row] = await database.query<{ count: number }>(
    sql`select count(*)::int as count from job where marking_number like 'I-%'`,
  );
  return row?.count;
}

describe("jobs import", () => {
  it("reads CSV by the file's name and says what became of the rows", async () => {
    const file = await fileOf(
      "jobs.csv",
      "marking_number,agent,contractor,weight\r\nC-1,Acme,Swift Couriers,1\r\nC-2,Acme,,2\r\n",
    );
    expect(await waymark("jobs", "import", file)).toEqual({
      code: 0,
      stdout: "2 created, 0 updated, 0 unchanged, 0 failed.\n",
      stderr: "",
    });
    expect(await documentOf("jobs", "import", file)).toEqual({
      dry_run: false,
      created: 0,
      updated: 0,
      unchanged: 2,
      failed: 0,
      failures: [],
      failures_left_out: 0,
    });
  });

  it("tells the rows that failed by line, field and reason, imports the others, and exits with 1", async () => {
    const file = await fileOf("some.csv", "marking_number,weight\nF-1,1\nF-2,x\nF-3,3\n\u001B[2J,4,5\n");
    const run = await waymark("jobs", "import", file, "--agent", "Acme");
    expect(run).toEqual({
      code: 1,
      stdout: "2 created, 0 updated, 0 unchanged, 2 failed.\n",
      stderr: "line 3 (F-2): weight: must be a number or null\nline 5: has 3 cells where the header has 2\n",
    });
    const again = await waymark("jobs", "import", file, "--agent", "Acme", "--json");
    expect(again).toMatchObject({ code: 1, stderr: run.stderr });
    expect(JSON.parse(again.stdout)).toEqual({
      dry_run: false,
      created: 0,
      updated: 0,
      unchanged: 2,
      failed: 2,
      failures: [
        {
          line: 3,
          marking_number: "F-2",
          problems: [{ field: "weight", message: "must be a number or null" }],
        },
        {
          line: 5,
          marking_number: null,
          problems: [{ field: null, message: "has 3 cells where the header has 2" }],
        },
      ],
      failures_left_out: 0,
    });
  });

  it("sends no control character of a file to the terminal", async () => {
    const run = await endOf(
      start(["jobs", "import", "-", "--format", "ndjson", "--agent", "Acme"]),
      '{"marking_number":"\\u001b[2J","\\u0007":1}',
    );
    expect(run.stderr).toBe("line 1 (\\u{1b}[2J): \\u{7}: is not a column of jobs\n");
  });

  it("refuses a column that it does not know, and names the nearest that it does", async () => {
    const file = await fileOf("typo.csv", "marking_number,recipent_name\nT-1,x\n");
    const run = await waymark("jobs", "import", file, "--agent", "Acme");
    expect(run).toMatchObject({ code: 2, stdout: "" });
    expect(run.stderr).toMatch(
      /^Error: The column "recipent_name" is not a column of jobs; did you mean recipient_name\?\nThe columns are: marking_number, /,
    );
  });

  it("reads standard input, its format given", async () => {
    const args = ["jobs", "import", "-", "--format", "ndjson", "--contractor", "Swift Couriers"];
    const run = await endOf(
      start(args),
      '{"marking_number":"N-1","agent":"Acme"}\n{"marking_number":"N-1","agent":"Acme"}\n',
    );
    expect(run).toEqual({ code: 0, stdout: "1 created, 0 updated, 1 unchanged, 0 failed.\n", stderr: "" });
  });

  it("changes nothing in a dry run, and says so", async () => {
    const args = ["jobs", "import", "-", "--format", "ndjson", "--agent", "Acme", "--dry-run"];
    for (let round = 0; round < 2; round += 1) {
      const run = await endOf(start(args), '{"marking_number":"DRY-1"}');
      expect(run.stdout).toBe(
        "Dry run, nothing was changed. It would be: 1 created, 0 updated, 0 unchanged, 0 failed.\n",
      );
    }
  });

  it("lists the first 1,000 failed rows in its document and counts the rest, in a small memory", async () => {
    const rows = Array.from({ length: 30_000 }, (_, at) => `{"marking_number":"L-${at}","weight":"x"}`);
    const child = start(["jobs", "import", "-", "--format", "ndjson", "--agent", "Acme", "--json"], {
      NODE_OPTIONS: "--max-old-space-size=64",
    });
    const run = await endOf(child, rows.join("\n"));
    const report = JSON.parse(run.stdout);
    expect(report).toMatchObject({ created: 0, failed: 30_000, failures_left_out: 29_000 });
    expect(report.failures.length).toBe(1_000);
    expect(run.stderr.trimEnd().split("\n").length).toBe(30_000);
  });

  it("keeps what is in already when it is interrupted, and exits with 1", async () => {
    const child = start(["jobs", "import", "-", "--format", "ndjson", "--agent", "Acme"]);
    const end = endOf(child);
    child.stdin?.write(Array.from({ length: 1_500 }, (_, at) => `{"marking_number":"I-${at}"}\n`).join(""));
    await vi.waitFor(async () => expect(await interruptedJobs()).toBe(1_000), { timeout: 20_000 });
    child.kill("SIGINT");
    expect(await end).toEqual({
      code: 1,
      stdout: "",
      stderr:
        "Stopped. Until then: 1,000 created, 0 updated, 0 unchanged, 0 failed.\nError: Interrupted\nWhat was committed stays.\n",
    });
    expect(await interruptedJobs()).toBe(1_000);
  });
});

describe("jobs export", () => {
  const file = 'marking_number,labels,instructions\nE-1,"",\nE-2,"a,""b""\nc",=1+1\n';

  it("writes what can be imported again, changing nothing", async () => {
    await waymark("org", "create", "--name", "Exporter", "--type", "agent");
    await waymark("jobs", "import", await fileOf("export.csv", file), "--agent", "Exporter");
    const csv = await waymark("jobs", "export", "--agent", "Exporter");
    expect(csv).toMatchObject({ code: 0, stderr: "2 jobs exported.\n" });
    expect(csv.stdout).toMatch(HEADER_OF_EXPORT);
    expect(csv.stdout).toMatch(/\nE-1,org_\w{26},,,,,"",,,,,,,,,pending,,,false,\n/);
    expect(csv.stdout).toMatch(/\nE-2,org_\w{26},,,,,"a,""b""\nc",,,,,,,,=1\+1,pending,,,false,\n/);
    const back = await endOf(start(["jobs", "import", "-", "--format", "csv"]), csv.stdout);
    expect(back.stdout).toBe("0 created, 0 updated, 2 unchanged, 0 failed.\n");
  });

  it("writes to a file in the format of its name, and says how many with --json", async () => {
    await waymark("org", "create", "--name", "Exporter", "--type", "agent");
    await waymark("jobs", "import", await fileOf("export.csv", file), "--agent", "Exporter");
    const out = join(folder, "out.ndjson");
    const document = await documentOf(
      "jobs",
      "export",
      "--agent",
      "Exporter",
      "--status",
      "pending",
      "--out",
      out,
    );
    expect(document).toEqual({ exported: 2, format: "ndjson", out });
    const lines = (await readFile(out, "utf8"))
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    // Jobs made in the same millisecond come in any order.
    expect(
      lines.toSorted((one, other) => one.marking_number.localeCompare(other.marking_number)),
    ).toMatchObject([
      { marking_number: "E-1", labels: "", instructions: null },
      { marking_number: "E-2", labels: 'a,"b"\nc', instructions: "=1+1" },
    ]);
    expect(await waymark("jobs", "import", out)).toMatchObject({
      stdout: "0 created, 0 updated, 2 unchanged, 0 failed.\n",
    });
  });

  it("is empty but for its header where no job matches", async () => {
    const run = await waymark("jobs", "export", "--contractor", "Swift Couriers", "--status", "returned");
    expect(run).toEqual({
      code: 0,
      stdout: expect.stringMatching(HEADER_OF_EXPORT),
      stderr: "0 jobs exported.\n",
    });
    expect(run.stdout.split("\n").length).toBe(2);
  });
});

/** The address in the banner, once the server has said it. */
async function addressIn(child: ChildProcess): Promise<string> {
  let said = "";
  for await (const chunk of on(child.stdout as NodeJS.ReadableStream, "data")) {
    said += String(chunk[0]);
    const address = /http:\/\/127\.0\.0\.1:\d+/.exec(said);
    if (address) return address[0];
  }
  throw new Error("It ended before it was up");
}

describe("WAYMARK_SECRET", () => {
  it.each([
    [["serve", "--role", "api"], 1],
    [["endpoint", "list"], 1],
    [["org", "list"], 0],
    [["migrate"], 0],
  ])("is needed with DATABASE_URL by what seals or signs, and by nothing else: %j", async (args, code) => {
    const run = await endOf(start(args, { WAYMARK_SECRET: "", LOG_LEVEL: "silent" }));
    expect(run.code).toBe(code);
    if (code === 0) return;
    expect(run).toMatchObject({ stdout: "", stderr: expect.stringContaining("WAYMARK_SECRET is not set") });
    expect(run.stderr).toContain("openssl rand -base64 32");
    expect(run.stderr).not.toContain("    at ");
  });
});

describe("serve", () => {
  it("runs the server until a signal", async () => {
    const child = start(["serve", "--role", "api"], {
      LOG_LEVEL: "silent",
      HOST: "127.0.0.1",
      MONGODB_URL: "mongodb://127.0.0.1:9",
    });
    const end = endOf(child);
    const url = await addressIn(child);
    expect((await fetch(`${url}/health/live`)).status).toBe(200);
    child.kill("SIGTERM");
    expect(await end).toMatchObject({ code: 0, stderr: "" });
  });
});

function login(role: string) {
  return {
    email: `${role}@waymark.example`,
    password: expect.stringMatching(/^\w{4}(-\w{4}){3}$/),
  };
}

describe("with no DATABASE_URL", () => {
  it(
    "works on the embedded database, whether or not a server is up, and demo fills it once",
    { timeout: 90_000 },
    async () => {
      const dataDir = join(folder, "embedded");
      const embedded = { DATABASE_URL: "", WAYMARK_DATA_DIR: dataDir };
      const first = await endOf(start(["demo", "--json"], embedded));
      expect(first.code).toBe(0);
      const keys = JSON.parse(first.stdout);
      expect(keys).toEqual({
        agent_key: expect.stringMatching(/^wmk_/),
        contractor_key: expect.stringMatching(/^wmk_/),
        logins: {
          agent: login("agent"),
          contractor: login("contractor"),
          operator: login("operator"),
        },
      });

      const server = await startHolder(dataDir, "exclusive");
      const again = await endOf(start(["demo"], embedded));
      expect(again).toMatchObject({ code: 0, stderr: "" });
      const { agent, contractor, operator } = keys.logins;
      expect(again.stdout).toBe(
        `Agent key:           ${keys.agent_key}\nContractor key:      ${keys.contractor_key}\n` +
          `Agent's login:       ${agent.email}  ${agent.password}\n` +
          `Contractor's login:  ${contractor.email}  ${contractor.password}\n` +
          `Operator's login:    ${operator.email}  ${operator.password}\n`,
      );
      await server.letGo();
    },
  );

  it("leaves a database with organisations of its own without the demo", async () => {
    const run = await waymark("demo");
    expect(run).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining("organisations of its own"),
    });
  });
});
