/** The package of the TypeScript client on each platform that its README names, against a running server. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { glob, mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { startTestApp, type TestApp } from "../../support/app/app.fixture.ts";
import { launchChromium } from "../../support/browser/chromium.ts";
import { installTypescriptClient } from "../../support/clients/typescript.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const run = promisify(execFile);
const opened = new AsyncDisposableStack();
let app: TestApp;
let folder: string;
/** The origin of the pages in Chromium. */
let origin: string;

/** Lists, updates, follows the feed, verifies a webhook and refuses a changed one. */
const EXERCISE = `export async function exercise({ verifyWebhook, Waymark }, { apiKey, baseUrl, number, webhook }) {
  const waymark = new Waymark({ apiKey, baseUrl });
  const listed = [];
  for await (const job of waymark.jobs.list()) listed.push(job.marking_number);
  const { weight } = await waymark.jobs.update(number, { weight: 7, labels: null });
  let followed;
  const store = { load: () => null, save() {} };
  const options = { store, types: ["job.updated"], pollIntervalMs: 1_000, onGone: () => "oldest" };
  for await (const event of waymark.events.follow(options)) {
    followed = event.data.job.weight;
    break;
  }
  const { body, headers, secret } = webhook;
  const { id } = await verifyWebhook(body, headers, secret);
  const refused = await verifyWebhook(body + " ", headers, secret).catch(({ name }) => name);
  return { listed, weight, followed, id, refused };
}
`;

beforeAll(async () => {
  const client = opened.use(await installTypescriptClient());
  folder = client.folder;
  await writeFile(join(folder, "exercise.js"), EXERCISE);
  origin = await servePackage(client.installed);
  app = opened.use(await startTestApp({ CORS_ORIGINS: origin }));
});
afterAll(() => opened.disposeAsync());

/** Returns the argument of `exercise`, with a new job, and its expected result. */
async function prepareExercise() {
  const agent = await app.createOrganization("agent");
  const [number = ""] = await app.createJobs(agent, [{}]);
  const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
  const body = JSON.stringify({ id: "evt_1", type: "job.updated", data: {} });
  const now = new Date();
  const headers = {
    "webhook-id": "evt_1",
    "webhook-timestamp": String(Math.floor(now.getTime() / 1_000)),
    "webhook-signature": new Webhook(secret).sign("evt_1", now, body),
  };
  return {
    task: JSON.stringify({ apiKey: agent.key, baseUrl: app.url, number, webhook: { body, headers, secret } }),
    expected: {
      listed: [number],
      weight: 7,
      followed: 7,
      id: "evt_1",
      refused: "WebhookVerificationError",
    },
  };
}

/** How a program loads the package: with `import`, or with `require` in CommonJS. */
const loaders = {
  js: `import * as client from "@waymark/client";
    import { exercise } from "./exercise.js";`,
  cjs: `const client = require("@waymark/client");
    const { exercise } = require("./exercise.js");`,
} as const;

/** Runs a program with the installed package. */
async function expectToRun(
  command: string,
  args: readonly string[] = [],
  extension: keyof typeof loaders = "js",
): Promise<void> {
  const { task, expected } = await prepareExercise();
  const call = `exercise(client, ${task}).then((result) => console.log(JSON.stringify(result)));`;
  await writeFile(join(folder, `main.${extension}`), `${loaders[extension]}\n${call}`);
  const { stdout, stderr } = await run(command, [...args, `main.${extension}`], { cwd: folder });
  expect(JSON.parse(stdout)).toEqual(expected);
  expect(extension === "cjs" ? stderr : "").toBe("");
}

describe("the package runs", () => {
  it("on Node 24", async () => {
    expect(process.version).toMatch(/^v24\./);
    await expectToRun(process.execPath);
    await expectToRun(process.execPath, [], "cjs");
  });

  it("on Node 20, whose 20.19 and later can load it with require", async ({ skip }) => {
    const node = await findNode20();
    skip(node === null, "skipped: this machine has no Node 20");
    await expectToRun(String(node));
    const [, minor = 0] = (await versionOf(String(node))).split(".").map(Number);
    if (minor >= 19) await expectToRun(String(node), [], "cjs");
  });

  // Each is a package of npm that contains the program.
  it.for([
    ["Deno", "deno@2.9.6", "@deno/*/deno", ["run", "--no-prompt", "--allow-net"]],
    ["Bun", "bun@1.4.4", "@oven/*/bin/bun", ["run"]],
  ] as const)("on %s", { timeout: 300_000 }, async ([, npmPackage, pattern, args], { skip }) => {
    await using runtime = await mkdtempDisposable(join(tmpdir(), "waymark-runtime-"));
    const flags = [
      "--ignore-scripts",
      "--prefer-offline",
      "--no-audit",
      "--no-fund",
      "--prefix",
      runtime.path,
    ];
    const install = await Promise.allSettled([run("npm", ["install", ...flags, npmPackage])]);
    skip(install[0].status === "rejected", `skipped: npm cannot install ${npmPackage}`);
    const [program = ""] = await Array.fromAsync(glob(pattern, { cwd: join(runtime.path, "node_modules") }));
    await expectToRun(join(runtime.path, "node_modules", program), args);
  });
});

describe("the package runs in Chromium", () => {
  it.each([
    ["a page", "(task) => import('/main.js').then(({ run }) => run(task))"],
    [
      "a worker",
      `(task) => new Promise((resolve, reject) => {
        const worker = new Worker("/worker.js", { type: "module" });
        worker.onmessage = ({ data }) => resolve(data);
        worker.onerror = ({ message }) => reject(new Error(message));
        worker.postMessage(task);
      })`,
    ],
  ])("on %s of another origin", async (_name, call) => {
    const { task, expected } = await prepareExercise();
    const browser = await launchChromium();
    try {
      const page = await browser.newPage();
      await page.goto(origin);
      expect(await page.evaluate(`(${call})(${task})`)).toEqual(expected);
    } finally {
      await browser.close();
    }
  });
});

/** Serves the package, and the modules for the page and the worker. Returns the origin. */
async function servePackage(installed: string): Promise<string> {
  const modules: Readonly<Record<string, string>> = {
    "/": "",
    "/exercise.js": EXERCISE,
    "/main.js": `import * as client from "/index.js";
      import { exercise } from "/exercise.js";
      export const run = (task) => exercise(client, task);`,
    "/worker.js": `import { run } from "/main.js";
      self.onmessage = async ({ data }) => self.postMessage(await run(data));`,
  };
  const send = async (path: string, response: ServerResponse): Promise<void> => {
    const content = modules[path] ?? (await readFile(join(installed, path)));
    response.setHeader("content-type", path === "/" ? "text/html" : "text/javascript").end(content);
  };
  const server = createServer(({ url = "/" }, response) => {
    send(url, response).catch(() => response.writeHead(404).end());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  opened.defer(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Node 20 where the machine has one, behind the project's own on the PATH. */
async function findNode20(): Promise<string | null> {
  const { stdout } = await run("which", ["-a", "node"]);
  for (const path of new Set([...stdout.trim().split("\n"), "/usr/bin/node"])) {
    if ((await versionOf(path)).startsWith("20.")) return path;
  }
  return null;
}

/** Returns the version of a Node, such as 20.19.0. Empty if it does not run. */
async function versionOf(node: string): Promise<string> {
  const { stdout } = await run(node, ["--version"]).catch(() => ({ stdout: "" }));
  return stdout.trim().replace(/^v/, "");
}
