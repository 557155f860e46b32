import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { waitForExit } from "../../support/processes/cli-process.ts";
import { useCliFixture } from "../../support/processes/cli.fixture.ts";

const { start, run: waymark, runJson: documentOf, folder } = useCliFixture();

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
    [["bogus"], "UsageError", "See: waymark --help"],
    [[], "UsageError", "See: waymark --help"],
    [["serve"], "BadRequestException", null],
    [["jobs", "export", "--status", "done"], "BadRequestException", null],
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
      waymark("jobs", "import", join(folder(), "none.csv")),
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
      stderr: `Error: ${join(folder(), "none.csv")} is not there\n`,
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
      waitForExit(start(["org", "list"], { DATABASE_URL: "mysql://x" })),
      waitForExit(start(["org", "list", "--json"], { DATABASE_URL: "postgresql://127.0.0.1:1/none" })),
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

describe("WAYMARK_SECRET", () => {
  it.each([
    [["serve", "--role", "api"], 1],
    [["endpoint", "list"], 1],
    [["org", "list"], 0],
    [["migrate"], 0],
  ])("is needed with DATABASE_URL by what seals or signs, and by nothing else: %j", async (args, code) => {
    const run = await waitForExit(start(args, { WAYMARK_SECRET: "", LOG_LEVEL: "silent" }));
    expect(run.code).toBe(code);
    if (code === 0) return;
    expect(run).toMatchObject({ stdout: "", stderr: expect.stringContaining("WAYMARK_SECRET is not set") });
    expect(run.stderr).toContain("openssl rand -base64 32");
    expect(run.stderr).not.toContain("    at ");
  });
});
