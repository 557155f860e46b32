/** Runs every sample of the guide against a fresh demo, and compares the responses that the guide shows. */
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import manifest from "../../../package.json" with { type: "json" };
import { ensureDemo } from "../../../src/dev/demo/demo.ts";
import { packageFiles } from "../../../src/sdk/api.ts";
import { waitUntilFeedIsComplete } from "../../support/app/feed-client.ts";
import { startTestApp, type TestApp } from "../../support/app/app.fixture.ts";
import { HTTPX, preparePython } from "../../support/clients/python.ts";
import { codeBlocks, guidePages, readPage, type CodeBlock } from "../../support/docs/guide-pages.ts";
import { eventually } from "../../support/eventually.ts";
import { freePort } from "../../support/free-port.ts";
import { BUILD_TIMEOUT_MS, buildSite } from "../../support/site.ts";
import { waitForExit } from "../../support/processes/cli-process.ts";
import { startTestReceiver, type TestReceiver } from "../../support/webhooks/receiver.ts";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { IncomingMessage } from "node:http";
import { operationsOf } from "../../../src/api/rest/openapi/operations.ts";
import { contract, type Operation } from "../../support/app/openapi-contract.ts";

/** The start of the User-Agent of what runs the samples in each language. */
const USER_AGENTS = {
  curl: "curl/",
  TypeScript: "waymark-client-typescript/",
  Python: "waymark-client-python/",
} as const;

type SampleLanguage = keyof typeof USER_AGENTS;

/** The operations for partners, which are those below `/v1`. */
const operations = operationsOf<Operation>(contract.paths)
  .filter(({ path }) => path.startsWith("/v1/"))
  .map(({ method, path, operation }) => ({
    method,
    pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`),
    name: operation.operationId,
  }));

const CHANNEL = "http.server.request.start";

/** Records the requests to all HTTP servers of this process until it is disposed. */
function recordSampleCalls() {
  const called = new Map<SampleLanguage, Set<string>>();
  const record = (message: unknown): void => {
    const { method, url = "", headers } = (message as { request: IncomingMessage }).request;
    const [path = ""] = url.split("?");
    const operation = operations.find((each) => each.method === method && each.pattern.test(path));
    if (!operation) return;
    for (const [language, prefix] of Object.entries(USER_AGENTS) as [SampleLanguage, string][])
      if (headers["user-agent"]?.startsWith(prefix))
        called.set(language, (called.get(language) ?? new Set()).add(operation.name));
  };
  subscribe(CHANNEL, record);
  return {
    hasAny: (language: SampleLanguage) => called.has(language),
    /** Returns the operations that nothing in this language has called. */
    missing: (language: SampleLanguage) =>
      operations.map(({ name }) => name).filter((name) => !called.get(language)?.has(name)),
    [Symbol.dispose]: () => void unsubscribe(CHANNEL, record),
  };
}

const TIMEOUT_MS = 120_000;
/** Far below the rate limit, which the samples share. */
const POLL_INTERVAL_MS = 200;
const PYTHON_CLIENT_README = "../clients/python/README.md";

let app: TestApp;
let key: string;
let folder: string;
let receiver: TestReceiver;
let calls: ReturnType<typeof recordSampleCalls>;

beforeAll(async () => {
  calls = recordSampleCalls();
  // Samples install the client that the server offers.
  await buildSite();
  folder = await mkdtemp(join(tmpdir(), "waymark-samples-"));
  app = await startTestApp({ WEBHOOK_ALLOW_PRIVATE: "on", RATE_LIMITS: "on" });
  key = (await ensureDemo({ ...app, dataDir: folder }))?.agent ?? "";
  receiver = await startTestReceiver();
  await createHistory();
  await waitUntilFeedIsComplete(app.database);
}, BUILD_TIMEOUT_MS);
afterAll(async () => {
  calls[Symbol.dispose]();
  await app[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const list = async (path: string): Promise<unknown[]> =>
  ((await app.call(path, { key })).body.data as { items: unknown[] }).items;
const send = (method: string, path: string, body: object) =>
  app.call(path, { method, key, body: JSON.stringify(body) });

/** Gives the logs a delivered webhook and a refused request. */
async function createHistory(): Promise<void> {
  const [job] = (await list("/v1/jobs?normalized_status=pending&page_size=1")) as Members[];
  const jobPath = `/v1/jobs/by-marking/${String(job?.["marking_number"])}`;
  expect((await send("POST", "/v1/webhook-endpoints", { url: receiver.url })).status).toBe(201);
  expect((await send("PATCH", jobPath, { normalized_status: "on_hold" })).status).toBe(200);
  expect((await send("PATCH", jobPath, { weight: "heavy" })).status).toBe(400);
  await eventually(
    async () => {
      expect(await list("/v1/webhook-deliveries?status=delivered")).not.toEqual([]);
      expect(await list("/v1/requests?outcome=refused")).not.toEqual([]);
    },
    { intervalMs: POLL_INTERVAL_MS },
  );
}

/** Runs a program, expects exit code 0, and returns its standard output. */
async function outputOf(
  program: string,
  args: readonly string[],
  variables: Record<string, string> = {},
): Promise<string> {
  const env = { ...process.env, WAYMARK_KEY: key, PYTHONPATH: join(folder, "packages"), ...variables };
  const { code, stdout, stderr } = await waitForExit(
    spawn(program, args, { cwd: folder, env, timeout: TIMEOUT_MS }),
  );
  expect(code, `${stdout}\n${stderr}`).toBe(0);
  return stdout;
}

/** Without the progress that curl prints. */
async function runShell(sample: string, variables: ReadonlyMap<string, string> = new Map()): Promise<string> {
  const script = toLocal(sample).replaceAll("curl ", "curl --no-progress-meter ");
  return await outputOf("bash", ["-euo", "pipefail", "-c", script], Object.fromEntries(variables));
}

/** The variables that samples in curl use, by the prefix of the ID. */
const ID_VARIABLES = { whe: "ENDPOINT_ID", dlv: "DELIVERY_ID", key: "KEY_ID", req: "REQUEST_ID" } as const;

/** Sets the variables that are not set yet: each to the first ID of its kind in the data of a response. */
function addIds({ data }: Members, variables: Map<string, string>): void {
  for (const [, id = "", prefix = ""] of JSON.stringify(data ?? null).matchAll(
    /"((whe|dlv|key|req)_\w+)"/g,
  )) {
    const name = ID_VARIABLES[prefix as keyof typeof ID_VARIABLES];
    if (!variables.has(name)) variables.set(name, id);
  }
  const { secret, items } = (data ?? {}) as { secret?: string; items?: { marking_number?: string }[] };
  if (secret?.startsWith("wmk_test_")) variables.set("WAYMARK_TEST_KEY", secret);
  const [{ marking_number: number } = {}] = items ?? [];
  if (number !== undefined) variables.set("MARKING_NUMBER", number);
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

/** The code and the message of a failed request, without numbers and request IDs, which differ each time. */
function errorOf(response: unknown): unknown {
  const { error, errors } = response as { error?: Failure | null; errors?: GraphqlFailure[] };
  const failure = error ?? errors?.map(({ message, extensions: { code } }) => ({ code, message }))[0];
  return failure ? [failure.code, failure.message.replaceAll(/req_\w+|\d+/g, "0")] : null;
}

interface Failure {
  code: string;
  message: string;
}

interface GraphqlFailure {
  message: string;
  extensions: { code: string };
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
    const variables = new Map<string, string>();
    for (const { language, note, text } of codeBlocks(readPage(path))) {
      if (language === "sh" && note !== "no-run") output = await runShell(text, variables);
      if (note === "response") {
        const responses = [text, output].map((json) => JSON.parse(json) as Members);
        addIds(responses[1] as Members, variables);
        shown.push(shapeOf(responses[0], responses[1]), errorOf(responses[0]));
        received.push(shapeOf(responses[1], responses[0]), errorOf(responses[1]));
      }
    }
    expect(output).not.toBe("");
    expect(received).toEqual(shown);
  });
});

describe("the samples in TypeScript", { timeout: TIMEOUT_MS }, () => {
  beforeAll(async () => {
    await outputOf("npm", [
      "install",
      "--no-save",
      `${app.url}/sdk/${packageFiles(manifest.version).typescript}`,
    ]);
  }, TIMEOUT_MS);

  it.each(pagesWith("ts"))("run: %s", async (path) => {
    const output = await runFile(process.execPath, "samples.ts", samplesOf(path, "ts"));
    expectShownOutput(path, output);
  });
});

describe("the samples in Python", { timeout: TIMEOUT_MS }, () => {
  let skipReason: string | null;
  beforeAll(async () => {
    const { url: client } = await fetch(`${app.url}/sdk/waymark_client.whl`);
    ({ skipReason } = await preparePython(join(folder, "packages"), { packages: [HTTPX, client] }));
  }, TIMEOUT_MS);

  it.for([...pagesWith("python"), PYTHON_CLIENT_README])("run: %s", async (path, { skip }) => {
    skip(skipReason !== null, skipReason ?? "");
    expectShownOutput(path, await runFile("python3", "samples.py", samplesOf(path, "python")));
  });
});

const isAnswer = ({ note, language }: CodeBlock): boolean => note === "response" || language === "text";

describe("the samples of all pages", () => {
  const languages: SampleLanguage[] = ["curl", "TypeScript", "Python"];

  it.for(languages)("call every operation in %s", (language, { skip }) => {
    skip(!calls.hasAny(language), "skipped: the samples of the pages did not run");
    expect(calls.missing(language)).toEqual([]);
  });

  it.each(pagesWith("python"))("show the answer below each sample in three languages: %s", (path) => {
    const blocks = codeBlocks(readPage(path));
    const unanswered = blocks.filter(({ language }, index) => {
      const before = blocks.slice(Math.max(index - 2, 0), index).map((block) => block.language);
      const [next] = blocks.slice(index + 1);
      return language === "python" && before.join() === "sh,ts" && !(next && isAnswer(next));
    });
    expect(unanswered.map(({ text }) => text)).toEqual([]);
  });
});

it("the quickstart ends with a verified webhook", { timeout: TIMEOUT_MS }, async () => {
  const port = String(await freePort());
  const page = readPage("guide/quickstart.md").replaceAll("9000", port);
  const blocks = codeBlocks(page);
  const program = blocks.find(({ language }) => language === "js");
  const [create, update] = blocks.filter(({ note, text }) => !note && /^curl -X (POST|PATCH)/.test(text));
  await writeFile(join(folder, "receiver.mjs"), program?.text ?? "");
  const { data } = JSON.parse(await runShell(create?.text ?? "")) as { data: { secret: string } };
  const env = { ...process.env, WEBHOOK_SECRET: data.secret };
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
  const variables = new Map([["MARKING_NUMBER", "WM-100002"]]);
  await runShell(update?.text.replace("out_for_delivery", "in_transit") ?? "", variables);
  await runShell(update?.text ?? "", variables);
  await expect.poll(() => printed, { timeout: 30_000 }).toContain("job.status_changed WM-100002\n");
});

it("the quickstart can be followed with a test key", { timeout: TIMEOUT_MS }, async () => {
  const created = await send("POST", "/v1/api-keys", { name: "Quickstart", mode: "test" });
  const { secret } = created.body.data as { secret: string };
  const variables = new Map([["WAYMARK_KEY", secret]]);
  const requests = codeBlocks(readPage("guide/quickstart.md")).filter(({ text }) => text.startsWith("curl "));
  expect(requests).toHaveLength(4);
  for (const { text } of requests) {
    const response = JSON.parse(await runShell(text, variables)) as Members;
    expect(response).toMatchObject({ success: true, error: null });
    addIds(response, variables);
  }
  expect(variables.get("MARKING_NUMBER")).toMatch(/^TEST-/);
});
