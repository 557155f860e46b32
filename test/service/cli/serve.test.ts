import { spawn, type ChildProcess } from "node:child_process";
import { on, once } from "node:events";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { acquireLock } from "../../../src/embedded/lock-file.ts";
import { waitForExit } from "../../support/processes/cli-process.ts";
import { useCliFixture } from "../../support/processes/cli.fixture.ts";
import { startHolder } from "../../support/processes/embedded-processes.ts";
import { eventually, eventuallyTruthy } from "../../support/eventually.ts";

const { start, run: waymark, folder } = useCliFixture();

/** Waits for the banner and returns the URL in it. */
async function urlInBanner(child: ChildProcess): Promise<string> {
  let output = "";
  for await (const chunk of on(child.stdout as NodeJS.ReadableStream, "data")) {
    output += String(chunk[0]);
    const match = /http:\/\/127\.0\.0\.1:\d+/.exec(output);
    if (match) return match[0];
  }
  throw new Error("The process ended before it printed its URL");
}

describe("serve", () => {
  it("runs the server until a signal", async () => {
    const child = start(["serve", "--role", "api"], {
      LOG_LEVEL: "silent",
      HOST: "127.0.0.1",
      MONGODB_URL: "mongodb://127.0.0.1:9",
    });
    const end = waitForExit(child);
    const url = await urlInBanner(child);
    expect((await fetch(`${url}/health/live`)).status).toBe(200);
    child.kill("SIGTERM");
    expect(await end).toMatchObject({ code: 0, stderr: "" });
  });
});

describe("npm start", () => {
  it(
    "runs the server on the project's Node until a signal, and exits with its code",
    { timeout: 90_000 },
    async () => {
      const launcher = join(import.meta.dirname, "../../../src/start.mjs");
      const env = {
        PATH: process.env["PATH"],
        WAYMARK_DATA_DIR: join(folder(), "npm-start"),
        PORT: "0",
        LOG_LEVEL: "silent",
        MONGODB_URL: "mongodb://127.0.0.1:9",
      };
      const child = spawn(process.execPath, [launcher], { env });
      const end = waitForExit(child);
      const url = await urlInBanner(child);
      expect((await fetch(`${url}/health/live`)).status).toBe(200);
      child.kill("SIGTERM");
      expect((await end).code).toBe(0);
      await expect(fetch(url)).rejects.toThrow("fetch failed");

      // npm signals its shell, which may end without passing the signal on.
      const shell = spawn("sh", ["-c", `"${process.execPath}" "${launcher}"; true`], {
        env: { ...env, npm_lifecycle_event: "start" },
      });
      const urlOfShell = await urlInBanner(shell);
      shell.kill("SIGTERM");
      await eventually(() => expect(fetch(urlOfShell)).rejects.toThrow("fetch failed"));

      const refused = await waitForExit(spawn(process.execPath, [launcher], { env: { ...env, PORT: "x" } }));
      expect(refused.code).toBe(1);
    },
  );
});

function expectedLogin(role: string) {
  return {
    email: `${role}@waymark.example`,
    password: expect.stringMatching(/^\w{4}(-\w{4}){3}$/),
  };
}

describe("without DATABASE_URL", () => {
  it(
    "uses the embedded database with or without a running server, and demo creates its data once",
    { timeout: 90_000 },
    async () => {
      const dataDir = join(folder(), "embedded");
      const embedded = { DATABASE_URL: "", WAYMARK_DATA_DIR: dataDir };
      const first = await waitForExit(start(["demo", "--json"], embedded));
      expect(first.code).toBe(0);
      const keys = JSON.parse(first.stdout);
      expect(keys).toEqual({
        agent_key: expect.stringMatching(/^wmk_/),
        contractor_key: expect.stringMatching(/^wmk_/),
        test_key: expect.stringMatching(/^wmk_test_/),
        logins: {
          agent: expectedLogin("agent"),
          contractor: expectedLogin("contractor"),
          operator: expectedLogin("operator"),
        },
      });

      const server = await startHolder(dataDir, "exclusive");
      const again = await waitForExit(start(["demo"], embedded));
      expect(again).toMatchObject({ code: 0, stderr: "" });
      const { agent, contractor, operator } = keys.logins;
      expect(again.stdout).toBe(
        `Agent key:           ${keys.agent_key}\nContractor key:      ${keys.contractor_key}\n` +
          `Test key:            ${keys.test_key}\n` +
          `Agent's login:       ${agent.email}  ${agent.password}\n` +
          `Contractor's login:  ${contractor.email}  ${contractor.password}\n` +
          `Operator's login:    ${operator.email}  ${operator.password}\n`,
      );
      await server.release();
    },
  );

  it.each([
    ["after-restore", "The restored database is ready."],
    ["accept-secret", "This database now accepts the current WAYMARK_SECRET."],
  ])("prints the result of %s before it releases the database, which may fail", async (command, result) => {
    const dataDir = join(folder(), "embedded");
    const child = start([command], { DATABASE_URL: "", WAYMARK_DATA_DIR: dataDir });
    let printed = "";
    child.stdout?.on("data", (chunk) => (printed += String(chunk)));
    const exited = once(child, "exit");
    const reference = `postgres-reference-shared-${child.pid}-`;
    await eventuallyTruthy(
      async () => (await readdir(dataDir).catch(() => [])).some((name) => name.startsWith(reference)),
      { timeoutMs: 30_000, intervalMs: 5 },
    );
    // The command held the lock when it added its reference, and needs it again to release the database.
    const unlock = await eventuallyTruthy(() => acquireLock(join(dataDir, "postgres-start.lock")), {
      timeoutMs: 30_000,
      intervalMs: 1,
    });
    try {
      await eventually(() => expect(printed).toContain(result));
      expect(child.exitCode).toBeNull();
    } finally {
      unlock();
    }
    expect(await exited).toEqual([0, null]);
  });

  it.each([
    [["after-restore"], ""],
    [["accept-secret"], ""],
    [["org", "list"], "production"],
    [["migrate"], "production"],
  ])("creates no embedded database for %j with NODE_ENV %j", async (args, environment) => {
    const dataDir = join(folder(), "forgotten");
    const settings = { DATABASE_URL: "", WAYMARK_DATA_DIR: dataDir, NODE_ENV: environment };
    const run = await waitForExit(start(args, settings));
    expect(run).toMatchObject({ code: 1, stdout: "" });
    expect(run.stderr).toContain(
      `DATABASE_URL is not set; this would use the embedded database in ${dataDir}.`,
    );
    await expect(readdir(dataDir)).rejects.toThrow("ENOENT");
  });

  it("refuses to create the demo in a database with other organisations", async () => {
    const run = await waymark("demo");
    expect(run).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining("organisations other than the demo's"),
    });
  });
});
