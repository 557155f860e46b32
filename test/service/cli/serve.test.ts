import { spawn, type ChildProcess } from "node:child_process";
import { on } from "node:events";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { waitForExit, type ProcessResult } from "../../support/processes/cli-process.ts";
import { useCliFixture } from "../../support/processes/cli.fixture.ts";
import { BUILD_TIMEOUT_MS, buildSite } from "../../support/site.ts";

const { environment, start, begin, run: waymark, folder } = useCliFixture();

const LAUNCHER = join(import.meta.dirname, "../../../src/start.mjs");

/** Waits for the banner and returns the URL in it. */
async function urlInBanner(child: ChildProcess): Promise<string> {
  let output = "";
  for await (const chunk of on(child.stdout as NodeJS.ReadableStream, "data", { close: ["end"] })) {
    output += String(chunk[0]);
    const match = /http:\/\/127\.0\.0\.1:\d+/.exec(output);
    if (match) return match[0];
  }
  throw new Error(`The process ended before it printed its URL. It printed: ${output}`);
}

/** Expects the server to answer, and ends it. */
async function serveUntilSignal(child: ChildProcess): Promise<{ url: string; end: ProcessResult }> {
  const end = waitForExit(child);
  const url = await urlInBanner(child);
  expect((await fetch(`${url}/health/live`)).status).toBe(200);
  child.kill("SIGTERM");
  return { url, end: await end };
}

describe("serve", () => {
  it("runs the server until a signal", async () => {
    const child = start(["serve", "--role", "api"], {
      LOG_LEVEL: "silent",
      HOST: "127.0.0.1",
      MONGODB_URL: "mongodb://127.0.0.1:9",
    });
    expect((await serveUntilSignal(child)).end).toMatchObject({ code: 0, stderr: "" });
  });
});

const npmStart = () =>
  spawn(process.execPath, [LAUNCHER], {
    env: {
      PATH: process.env["PATH"],
      ...environment(),
      WAYMARK_ROLE: "api",
      LOG_LEVEL: "silent",
      MONGODB_URL: "mongodb://127.0.0.1:9",
    },
  });

describe("npm start", () => {
  // Otherwise the first start builds the site, which takes a minute on a busy machine.
  beforeAll(buildSite, BUILD_TIMEOUT_MS);

  it("runs the server on the project's Node until a signal, and exits with its code", async () => {
    const { url, end } = await serveUntilSignal(npmStart());
    expect(end.code).toBe(0);
    await expect(fetch(url)).rejects.toThrow("fetch failed");
  });
});

describe("demo", () => {
  it("refuses to create the demo in a database with other organisations", async () => {
    const run = await waymark("demo");
    expect(run).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining("organisations other than the demo's"),
    });
  });
});

describe("without DATABASE_URL", () => {
  it.each([
    [["after-restore"], ""],
    [["accept-secret"], ""],
    [["org", "list"], "production"],
    [["migrate"], "production"],
  ])("creates no embedded database for %j with NODE_ENV %j", async (args, nodeEnv) => {
    const dataDir = join(folder(), "forgotten");
    const settings = { DATABASE_URL: "", WAYMARK_DATA_DIR: dataDir, NODE_ENV: nodeEnv };
    const run = await begin(args, settings).ended;
    expect(run).toMatchObject({ code: 1, stdout: "" });
    expect(run.stderr).toContain(
      `DATABASE_URL is not set; this would use the embedded database in ${dataDir}.`,
    );
    await expect(readdir(dataDir)).rejects.toThrow("ENOENT");
  });
});
