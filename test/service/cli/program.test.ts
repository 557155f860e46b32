import manifest from "../../../package.json" with { type: "json" };
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { parseOutput, waitForExit } from "../../support/processes/cli-process.ts";
import { useCliFixture } from "../../support/processes/cli.fixture.ts";

const { start, begin, run: waymark, runJson, folder } = useCliFixture();

describe("the command line", () => {
  it.each([["--help"], ["jobs", "import", "--help"], ["help", "key"]])(
    "prints help and exits with 0: %s %s",
    async (...args) => {
      const run = await waymark(...args);
      expect(run).toMatchObject({ code: 0, stderr: "" });
      expect(run.stdout).toMatch(/^Usage: waymark/);
    },
  );

  it("prints its version", async () => {
    expect(await waymark("--version")).toMatchObject({
      code: 0,
      stdout: `${manifest.version}\n`,
    });
  });

  it("accepts --json before the command", async () => {
    const run = await waymark("--json", "org", "list");
    expect(parseOutput(run, 0)).toHaveProperty("items");
  });
});

describe("exit code 2 (usage error)", () => {
  it.each([
    [["bogus"], "unknown command 'bogus'", "See: waymark --help"],
    [["org", "create", "--type", "agent"], "required option '--name <name>'", "org create --help"],
    [["key", "create", "--org", "Acme", "--scopes", "jobs:all"], "Allowed scopes: ", "key create --help"],
    [["key", "create", "--org", "Acme", "--expires", "soon"], "a date (2027-01-31)", "key create --help"],
    [["key", "rotate", "x", "--grace-hours", "day"], "It must be a number", "key rotate --help"],
    [["key", "create", "--org", "Acme", "--operator"], "cannot be used with option", "key create --help"],
    [["key", "create", "--org", "Acme", "--cidr", "999"], '"999" is not a CIDR range', ""],
    [["org", "create", "--name", " ", "--type", "agent"], "The name must not be empty", ""],
    [["jobs", "export", "--status", "done"], 'Unknown status "done"; known statuses: pending,', ""],
    [["jobs", "export", "--agent", "Swift Couriers"], '"Swift Couriers" is a contractor, not an agent', ""],
    [["jobs", "import", "-"], "Cannot detect the format of standard input", ""],
    [["key", "create"], "Specify --org or --operator", ""],
    [["key"], "Usage: waymark key", ""],
  ])("prints the error with a hint on standard error only: %j", async (args, message, hint) => {
    const { stderr, ...rest } = await waymark(...args);
    expect(rest).toEqual({ code: 2, stdout: "" });
    for (const part of [message, hint]) expect(stderr).toContain(part);
    expect(stderr).not.toContain("    at ");
  });
});

it.each([
  [["bogus"], 2, "UsageError", "See: waymark --help"],
  [["jobs", "export", "--status", "done"], 2, "BadRequestException", null],
  [["key", "revoke", "nokey123"], 1, "NotFoundException", "Run `waymark key list` to see what exists."],
])("prints an error as JSON on standard output with --json: %j", async (args, exitCode, code, hint) => {
  const run = await waymark(...args, "--json");
  expect(parseOutput(run, exitCode)).toEqual({
    error: { code, message: expect.any(String), hint, details: null },
  });
});

describe("exit code 1 (failure)", () => {
  it("prints no stack for an object or file that does not exist, or a name that is taken", async () => {
    const [missing, taken, file] = await Promise.all([
      waymark("org", "suspend", "Unknown Ltd"),
      waymark("org", "create", "--name", "Acme", "--type", "agent"),
      waymark("jobs", "import", join(folder(), "none.csv")),
    ]);
    expect([missing, taken, file]).toEqual(
      [
        'Error: There is no organisation "Unknown Ltd"\nRun `waymark org list` to see what exists.\n',
        'Error: An organisation named "Acme" already exists\n',
        `Error: ENOENT: no such file or directory, stat '${join(folder(), "none.csv")}'\n`,
      ].map((stderr) => ({ code: 1, stdout: "", stderr })),
    );
  });

  it("is returned with a hint for an invalid setting and for an unreachable database", async () => {
    const [invalid, unreachable] = await Promise.all([
      begin(["org", "list"], { DATABASE_URL: "mysql://x" }).ended,
      begin(["org", "list", "--json"], { DATABASE_URL: "postgresql://127.0.0.1:1/none" }).ended,
    ]);
    expect(invalid).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("DATABASE_URL") });
    expect(invalid.stderr).not.toContain("    at ");
    expect(parseOutput(unreachable, 1).error).toMatchObject({
      code: "StartupError",
      hint: expect.stringContaining("DATABASE_URL"),
    });
  });
});

describe("the process", () => {
  it("exits with the code of the command", async () => {
    expect(await waitForExit(start(["org", "lst"]))).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringMatching(/^Error: unknown/),
    });
  });

  it("prints no error if the reader of standard output closes the pipe", async () => {
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
  it("reports that nothing was applied if the schema is up to date", async () => {
    expect(await waymark("migrate")).toEqual({ code: 0, stdout: "The schema is up to date.\n", stderr: "" });
    expect(await runJson("migrate")).toEqual({ applied: [] });
  });
});

describe("WAYMARK_SECRET", () => {
  const unset = { WAYMARK_SECRET: "", LOG_LEVEL: "silent" };

  it("is required with DATABASE_URL by commands that encrypt or sign", async () => {
    const { code, stdout, stderr } = await begin(["endpoint", "list"], unset).ended;
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/WAYMARK_SECRET is not set[^]*openssl rand -base64 32/);
    expect(stderr).not.toContain("    at ");
  });

  it.each([["org", "list"], ["migrate"]])("is not required by other commands: %s %s", async (...args) => {
    expect(await begin(args, unset).ended).toMatchObject({ code: 0 });
  });
});
