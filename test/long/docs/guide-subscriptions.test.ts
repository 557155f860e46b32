/** Runs the clients of the guide's page on subscriptions, and interrupts their connections. */
import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { startTestApp, type TestApp, type TestOrganization } from "../../support/app/app.fixture.ts";
import { expectData } from "../../support/app/assertions.ts";
import { patchJob } from "../../support/app/job-client.ts";
import { HTTPX, preparePython, type PythonEnvironment } from "../../support/clients/python.ts";
import { startFaultProxy } from "../../support/database/fault-proxy.ts";
import { codeBlocks, readPage } from "../../support/docs/guide-pages.ts";
import { createVisibleJobs } from "../../support/graphql/subscription-client.ts";

const TIMEOUT_MS = 180_000;
const blocks = codeBlocks(readPage("guide/graphql/subscriptions.md"));
const sampleIn = (language: string): string =>
  blocks.find((block) => block.language === language)?.text ?? "";

let app: TestApp;
let folder: string;
let python: PythonEnvironment;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "waymark-subscriptions-"));
  app = await startTestApp();
  await symlink(join(import.meta.dirname, "../../../node_modules"), join(folder, "node_modules"));
  python = await preparePython(join(folder, "packages"), { packages: [HTTPX, "websockets>=15"] });
}, TIMEOUT_MS);
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

interface Client {
  process: ChildProcessWithoutNullStreams;
  output: { stdout: string; stderr: string };
}

/** Starts a sample. The test ends it. */
async function startClient(program: string, file: string, url: string, key: string): Promise<Client> {
  const sample = sampleIn(file.endsWith(".ts") ? "ts" : "python");
  await writeFile(join(folder, file), sample.replaceAll("http://127.0.0.1:4000", url));
  const env = { ...process.env, WAYMARK_KEY: key, PYTHONPATH: join(folder, "packages") };
  const started = spawn(program, [file], { cwd: folder, env });
  onTestFinished(() => void started.kill());
  const output = { stdout: "", stderr: "" };
  started.stdout.on("data", (chunk: Buffer) => (output.stdout += chunk.toString()));
  started.stderr.on("data", (chunk: Buffer) => (output.stderr += chunk.toString()));
  return { process: started, output };
}

/** Waits until the client has printed `lines`, and nothing else. */
async function expectLines({ output }: Client, lines: readonly string[]): Promise<void> {
  const count = (): number => output.stdout.split("\n").length - 1;
  await expect.poll(count, { timeout: TIMEOUT_MS / 3 }).toBeGreaterThanOrEqual(lines.length);
  expect(output.stdout.split("\n")).toEqual([...lines, ""]);
}

async function update(agent: TestOrganization, number: string, weight: number): Promise<void> {
  expectData(await patchJob(app, agent, number, { weight }));
}

const clients = [
  { language: "TypeScript", program: process.execPath, extension: "ts" },
  { language: "Python", program: "python3", extension: "py" },
] as const;

describe.for(clients)(
  "the client in $language",
  { timeout: TIMEOUT_MS },
  ({ language, program, extension }) => {
    const skipWithoutPackages = (skip: (condition: boolean, note: string) => void): void =>
      skip(language === "Python" && python.skipReason !== null, python.skipReason ?? "");

    it("prints each change once and in order, also after interruptions", async ({ skip }) => {
      skipWithoutPackages(skip);
      const agent = await app.createOrganization("agent");
      const [a = "", b = "", c = ""] = await createVisibleJobs(app, agent, [{}, {}, {}]);
      await using proxy = await startFaultProxy(app.url);
      const client = await startClient(program, `client.${extension}`, proxy.url, agent.key);
      const lines: string[] = [];
      const printed = async (...numbers: string[]): Promise<void> => {
        lines.push(...numbers.map((number) => `JOB_UPDATED ${number}`));
        await expectLines(client, lines);
      };

      // The second connection is the first catch-up, so the client has its first position.
      await expect.poll(() => proxy.acceptedCount(), { timeout: TIMEOUT_MS / 3 }).toBe(2);
      proxy.disconnect();
      await update(agent, a, 1);
      proxy.restore();
      await printed(a);
      await update(agent, b, 2);
      await printed(b);

      proxy.disconnect();
      await update(agent, c, 3);
      await update(agent, a, 4);
      proxy.restore();
      await printed(c, a);
      await update(agent, b, 5);
      await printed(b);

      proxy.silence();
      await update(agent, c, 6);
      await printed(c);
      await update(agent, a, 7);
      await printed(a);
    });

    it("exits if its key is rejected", async ({ skip }) => {
      skipWithoutPackages(skip);
      const client = await startClient(program, `rejected.${extension}`, app.url, "wmk_unknown");
      const [code] = (await once(client.process, "exit")) as [number | null];
      expect(code).toBe(1);
      expect(client.output.stderr).toContain("4403");
    });
  },
);
