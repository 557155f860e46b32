/** Runs every sample of the guide against a fresh demo, and compares the responses that the guide shows. */
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { ensureDemo } from "../../src/embedded/demo/demo.ts";
import { waitUntilFeedIsComplete } from "../support/app/feed-client.ts";
import { startTestApp, type TestApp } from "../support/app/app.fixture.ts";
import { codeBlocks, guidePages, readPage } from "../support/docs/guide-pages.ts";
import { freePort } from "../support/free-port.ts";
import { waitForExit } from "../support/processes/cli-process.ts";

const TIMEOUT_MS = 120_000;

let app: TestApp;
let key: string;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "waymark-samples-"));
  app = await startTestApp({ WEBHOOK_ALLOW_PRIVATE: "on" });
  key = (await ensureDemo({ ...app, dataDir: folder }))?.agent ?? "";
  await waitUntilFeedIsComplete(app.database);
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

/** Runs a program, expects exit code 0, and returns its standard output. */
async function outputOf(program: string, args: readonly string[]): Promise<string> {
  const env = { ...process.env, WAYMARK_KEY: key, PYTHONPATH: join(folder, "packages") };
  const { code, stdout, stderr } = await waitForExit(
    spawn(program, args, { cwd: folder, env, timeout: TIMEOUT_MS }),
  );
  expect(code, `${stdout}\n${stderr}`).toBe(0);
  return stdout;
}

/** Without the progress that curl prints. */
async function runShell(sample: string): Promise<string> {
  const script = toLocal(sample).replaceAll("curl ", "curl --no-progress-meter ");
  return await outputOf("bash", ["-euo", "pipefail", "-c", script]);
}

const toLocal = (sample: string): string => sample.replaceAll("http://127.0.0.1:4000", app.url);

async function runFile(program: string, name: string, samples: readonly string[]): Promise<string> {
  await writeFile(join(folder, name), toLocal(samples.join("\n")));
  return await outputOf(program, [name]);
}

/**
 * Describes a value by the types of its members, to compare it with `other`. What is null in one of them has any type, and an
 * array is described by its first element.
 */
function shapeOf(value: unknown, other: unknown): unknown {
  if (value === null || other === null) return "any";
  if (typeof value !== "object" || typeof other !== "object") return typeof value;
  const members = Array.isArray(value) ? value.slice(0, 1) : value;
  return Object.fromEntries(
    Object.entries(members).map(([name, member]) => [name, shapeOf(member, (other as Members)[name])]),
  );
}

/** The code and the message of a failed request, without numbers, which depend on the demo. */
function errorOf(response: unknown): unknown {
  const { error } = response as { error?: { code: string; message: string } | null };
  return error ? [error.code, error.message.replaceAll(/\d+/g, "0")] : null;
}

interface Members {
  [name: string]: unknown;
}

const pages = guidePages.filter((path) => path.startsWith("guide/") && path !== "guide/webhooks/verify.md");
const pagesWith = (language: string): string[] =>
  pages.filter((path) =>
    codeBlocks(readPage(path)).some((block) => block.language === language && block.note !== "no-run"),
  );
const samplesOf = (path: string, language: string): string[] =>
  codeBlocks(readPage(path))
    .filter((block) => block.language === language && block.note !== "no-run")
    .map(({ text }) => text);

/** Expects that the samples printed something, and what the page shows. The quickstart shows the output of its receiver. */
function expectShownOutput(path: string, output: string): void {
  expect(output).not.toBe("");
  if (path === "guide/quickstart.md") return;
  for (const shown of samplesOf(path, "text")) expect(output).toContain(shown);
}

describe("the samples in curl", { timeout: TIMEOUT_MS }, () => {
  it.each(pagesWith("sh"))("run, and return what %s shows", async (path) => {
    const shown: unknown[] = [];
    const received: unknown[] = [];
    let output = "";
    for (const { language, note, text } of codeBlocks(readPage(path))) {
      if (language === "sh" && note !== "no-run") output = await runShell(text);
      if (note === "response") {
        const responses = [text, output].map((json) => JSON.parse(json) as unknown);
        shown.push(shapeOf(responses[0], responses[1]), errorOf(responses[0]));
        received.push(shapeOf(responses[1], responses[0]), errorOf(responses[1]));
      }
    }
    expect(output).not.toBe("");
    expect(received).toEqual(shown);
  });
});

describe("the samples in TypeScript", { timeout: TIMEOUT_MS }, () => {
  it.each(pagesWith("ts"))("run: %s", async (path) => {
    const output = await runFile(process.execPath, "samples.ts", samplesOf(path, "ts"));
    expectShownOutput(path, output);
  });
});

describe("the samples in Python", { timeout: TIMEOUT_MS }, () => {
  let isInstalled = false;
  beforeAll(async () => {
    const pip = "-m pip install --quiet --no-input --timeout 5 --retries 0 --target packages httpx==0.28.1";
    const install = spawn("python3", pip.split(" "), { cwd: folder, timeout: TIMEOUT_MS });
    isInstalled = (await waitForExit(install)).code === 0;
  }, TIMEOUT_MS);

  it.for(pagesWith("python"))("run: %s", async (path, { skip }) => {
    skip(!isInstalled, "skipped: pip cannot install httpx");
    expectShownOutput(path, await runFile("python3", "samples.py", samplesOf(path, "python")));
  });
});

it("the quickstart ends with a verified webhook", { timeout: TIMEOUT_MS }, async () => {
  const port = String(await freePort());
  const page = readPage("guide/quickstart.md").replaceAll("9000", port);
  const blocks = codeBlocks(page);
  const receiver = blocks.find(({ language }) => language === "js");
  const [create, update] = blocks.filter(({ text }) => /createWebhookEndpoint\(|curl -X PATCH/.test(text));
  await writeFile(join(folder, "receiver.mjs"), receiver?.text ?? "");
  const { data } = JSON.parse(await runShell(create?.text ?? "")) as {
    data: { createWebhookEndpoint: { secret: string } };
  };
  const env = { ...process.env, WEBHOOK_SECRET: data.createWebhookEndpoint.secret };
  const started = spawn(process.execPath, ["receiver.mjs"], { cwd: folder, env });
  onTestFinished(() => void started.kill());
  let printed = "";
  started.stdout.on("data", (chunk: Buffer) => (printed += chunk.toString()));
  const statusAt = (path: string) =>
    fetch(`http://127.0.0.1:${port}${path}`, { method: "POST" }).then(({ status }) => status, String);
  // It rejects a request without a signature.
  await expect.poll(() => statusAt("/webhooks")).toBe(400);
  expect(await statusAt("/")).toBe(404);
  // The samples before have made this update already.
  await runShell(update?.text.replace("out_for_delivery", "in_transit") ?? "");
  await runShell(update?.text ?? "");
  await expect.poll(() => printed, { timeout: 30_000 }).toContain("job.status_changed WM-100002\n");
});
