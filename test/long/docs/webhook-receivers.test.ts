/** The receivers of the guide on webhooks, in each language, run and accept only genuine requests. */
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { mkdtemp, rm, writeFile, copyFile, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it, type TestContext, onTestFinished } from "vitest";
import { sign } from "../../../src/webhooks/dispatcher/sign-and-send.ts";
import { newSecret } from "../../../src/webhooks/signing/secrets.ts";
import { onlyBlock, readPage, testVectorOf } from "../../support/docs/guide-pages.ts";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { freePort } from "../../support/free-port.ts";
import { waitForExit, type ProcessResult } from "../../support/processes/cli-process.ts";

interface DocumentedReceiver {
  name: string;
  /** Language of the code block. There is one block per language with and one without the package `standardwebhooks`. */
  language: string;
  usesPackage: boolean;
  file: string;
  /** The command that must succeed for the language to be installed. */
  versionCommand: readonly string[];
  /** Installs dependencies or builds in the file's folder. Returns a skip reason or null. Throws if the example is broken. */
  prepare?: (folder: string) => Promise<string | null>;
  start: (port: string) => readonly string[];
  /** True if it starts without a secret and then answers 500. */
  startsWithoutSecret?: true;
}

interface RunningReceiver {
  url: string;
  /** Returns what it has printed. */
  output: () => string;
}

const NODE_MODULES = fileURLToPath(new URL("../../../node_modules", import.meta.url));
/** A first build is slow on a busy machine. */
const BUILD_TIMEOUT_MS = 180_000;
const INSTALL_TIMEOUT_MS = 30_000;
const PACKAGES = "packages";

const node = {
  language: "ts",
  file: "receiver.ts",
  versionCommand: [process.execPath, "--version"],
  start: () => [process.execPath, "receiver.ts"],
};
const python = {
  language: "python",
  file: "receiver.py",
  versionCommand: ["python3", "--version"],
  start: () => ["python3", "receiver.py"],
};

const documentedReceivers: readonly DocumentedReceiver[] = [
  { ...node, name: "TypeScript", usesPackage: false },
  {
    ...node,
    name: "TypeScript with standardwebhooks",
    usesPackage: true,
    async prepare(folder) {
      await symlink(NODE_MODULES, join(folder, "node_modules"));
      return null;
    },
  },
  { ...python, name: "Python", usesPackage: false },
  { ...python, name: "Python with standardwebhooks", usesPackage: true, prepare: installFromPyPI },
  {
    name: "Go",
    language: "go",
    usesPackage: false,
    file: "receiver.go",
    versionCommand: ["go", "version"],
    prepare: (folder) => build(folder, ["go", "build", "-o", "receiver", "receiver.go"]),
    start: () => ["./receiver"],
  },
  {
    name: "Java",
    language: "java",
    usesPackage: false,
    file: "WebhookReceiver.java",
    // A Java runtime without the compiler cannot run source files.
    versionCommand: ["javac", "-version"],
    start: () => ["java", "WebhookReceiver.java"],
  },
  {
    name: "PHP",
    language: "php",
    usesPackage: false,
    file: "receiver.php",
    versionCommand: ["php", "--version"],
    start: (port) => ["php", "-S", `127.0.0.1:${port}`, "receiver.php"],
    startsWithoutSecret: true,
  },
  {
    name: "C#",
    language: "csharp",
    usesPackage: false,
    file: "Program.cs",
    versionCommand: ["dotnet", "--version"],
    async prepare(folder) {
      const project = "dotnet new console --no-restore --name receiver --output project".split(" ");
      const created = await build(folder, project);
      if (created !== null) return created;
      await copyFile(join(folder, "Program.cs"), join(folder, "project", "Program.cs"));
      return await build(folder, ["dotnet", "build", "project", "--output", "built"]);
    },
    start: () => ["dotnet", "built/receiver.dll"],
  },
  {
    // Where .NET is not installed, Debian's Mono can run the same file.
    name: "C# on Mono",
    language: "csharp",
    usesPackage: false,
    file: "Program.cs",
    versionCommand: ["mcs", "--version"],
    prepare: (folder) => build(folder, ["mcs", "-out:receiver.exe", "Program.cs"]),
    start: () => ["mono", "receiver.exe"],
  },
];

/** Returns why the receiver cannot run on this machine, or null. `folder` must contain its file. */
async function findSkipReason(
  { versionCommand, prepare }: DocumentedReceiver,
  folder: string,
): Promise<string | null> {
  const { code } = await run(folder, versionCommand);
  if (code !== 0) return `${versionCommand[0]} is not installed`;
  return (await prepare?.(folder)) ?? null;
}

/** Starts the receiver until the end of the test. Resolves when it listens; throws if it exits. */
async function startDocumentedReceiver(
  { start }: DocumentedReceiver,
  { folder, secret }: { folder: string; secret: string },
): Promise<RunningReceiver> {
  const port = String(await freePort());
  // PHP stores the IDs of events in TMPDIR.
  const child = spawnIn(folder, start(port), { PORT: port, WEBHOOK_SECRET: secret, TMPDIR: folder });
  onTestFinished(async () => {
    if (child.kill("SIGKILL")) await once(child, "exit");
  });
  const output = await waitUntilListening(child);
  return { url: `http://127.0.0.1:${port}`, output };
}

/** Builds in the file's folder. Returns a skip reason if it takes too long. Throws if it fails. */
async function build(folder: string, command: readonly string[]): Promise<string | null> {
  const { code, stderr } = await run(folder, command, BUILD_TIMEOUT_MS);
  if (code === null) return `${command.slice(0, 2).join(" ")} took more than ${BUILD_TIMEOUT_MS / 1000} s`;
  if (code !== 0) throw new Error(stderr);
  return null;
}

/** Installs the package in the file's folder. Returns a skip reason if PyPI is unreachable. */
async function installFromPyPI(folder: string): Promise<string | null> {
  const importCheck = await run(folder, ["python3", "-c", "import standardwebhooks"]);
  if (importCheck.code === 0) return null;
  const pip = "python3 -m pip install --quiet --no-input --no-deps --timeout 5 --retries 0".split(" ");
  const install = [...pip, "--target", PACKAGES, "standardwebhooks==1.1.0"];
  const { code } = await run(folder, install);
  return code === 0 ? null : "pip cannot install standardwebhooks";
}

function spawnIn(
  cwd: string,
  [program = "", ...args]: readonly string[],
  settings: Record<string, string> = {},
  timeout?: number,
): ChildProcess {
  // Without cgo, Go builds faster. PYTHONPATH is where pip installed the package.
  const env = { ...process.env, CGO_ENABLED: "0", GOTOOLCHAIN: "local", PYTHONPATH: PACKAGES, ...settings };
  return spawn(program, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"], timeout });
}

/** Returns the code null for a command that timed out, and -1 for one that could not start. */
async function run(
  cwd: string,
  command: readonly string[],
  timeoutMs = INSTALL_TIMEOUT_MS,
): Promise<ProcessResult> {
  try {
    return await waitForExit(spawnIn(cwd, command, {}, timeoutMs));
  } catch (error) {
    return { code: -1, stdout: "", stderr: String(error) };
  }
}

/** Returns a function that returns the output so far. */
function waitUntilListening(child: ChildProcess): Promise<() => string> {
  return new Promise((resolve, reject) => {
    let output = "";
    const read = (chunk: Buffer): void => {
      output += chunk.toString();
      if (/listening on port|Development Server .* started/.test(output)) resolve(() => output);
    };
    child.stdout?.on("data", read);
    child.stderr?.on("data", read);
    child.on("error", reject);
    child.on("exit", (code) => reject(new Error(`The receiver exited with ${code}: ${output}`)));
  });
}

const verify = readPage("guide/webhooks/verify.md");
const vector = testVectorOf(verify);

const secret = newSecret();
const eventBody = '{"id": "evt_1", "type": "job.updated",  "town": "Tromsø 🚚"}';

const MAX_BYTES = 1024 * 1024;

interface Sent {
  path?: string;
  method?: string;
  secrets?: string[];
  id?: string;
  /** In seconds from now. */
  madeS?: number;
  /** The signed text. */
  body?: string;
  /** The sent text, if it is not `body`. */
  sentBody?: string;
  headers?: Record<string, string | null>;
  signature?: (own: string) => string;
}

/** Sends a request like our sender, with changes. Returns the status, or 413 if the receiver closed the connection. */
async function post(url: string, changes: Sent = {}): Promise<number> {
  const { secrets = [secret], id = "evt_1", madeS = 0, body = eventBody, headers = {} } = changes;
  const { path = "/webhooks", method = "POST", sentBody = body, signature = (own) => own } = changes;
  const timestampS = Math.floor(Date.now() / 1000) + madeS;
  const all = {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": String(timestampS),
    "webhook-signature": signature(sign(secrets, { id, timestampS, body })),
    ...headers,
  };
  const present = Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== null);
  const sent = { method, headers: present, ...(method !== "GET" && { body: sentBody }) };
  try {
    const response = await fetch(url + path, sent);
    return response.status;
  } catch (error) {
    // The receiver may close the connection before it has read a body that is too large.
    if (sentBody.length > MAX_BYTES) return 413;
    throw error;
  }
}

/** An event of this many bytes. */
function eventOf(bytes: number): string {
  const start = '{"type":"job.updated","text":"';
  return `${start}${"x".repeat(bytes - start.length - 2)}"}`;
}

const [accepted, rejected] = [204, 400];
/** Requests to a receiver, and the status that it must return. */
const cases: Record<string, [Sent, number]> = {
  "a good signature": [{}, accepted],
  "the same request again": [{}, accepted],
  "the second of two signatures": [{ secrets: [newSecret(), secret] }, accepted],
  "one among others that it does not know": [{ signature: (own) => `v1a,AAAA v1,AAAA ${own}` }, accepted],
  "a timestamp of four minutes ago": [{ madeS: -240 }, accepted],
  "a query in the URL": [{ path: "/webhooks?token=1" }, accepted],
  "another secret's signature": [{ secrets: [newSecret()] }, rejected],
  "a signature cut short": [{ signature: (own) => own.slice(0, -4) }, rejected],
  "a signature of another version": [{ signature: (own) => own.replace("v1,", "v2,") }, rejected],
  "no signature": [{ headers: { "webhook-signature": null } }, rejected],
  "no id": [{ headers: { "webhook-id": null } }, rejected],
  "another id": [{ headers: { "webhook-id": "evt_2" } }, rejected],
  "a timestamp of six minutes ago": [{ madeS: -360 }, rejected],
  "a timestamp six minutes ahead": [{ madeS: 360 }, rejected],
  "a timestamp in words": [{ headers: { "webhook-timestamp": "yesterday" } }, rejected],
  "a changed body": [{ sentBody: eventBody.replace("evt_1", "evt_3") }, rejected],
  "a body written again": [{ sentBody: JSON.stringify(JSON.parse(eventBody)) }, rejected],
  "another path": [{ path: "/" }, 404],
  "a path below": [{ path: "/webhooks/jobs" }, 404],
  "a path that begins alike": [{ path: "/webhooks2" }, 404],
  "another path and method": [{ path: "/jobs", method: "GET" }, 404],
  "another method": [{ method: "GET" }, 405],
  "another method with a body": [{ method: "PUT" }, 405],
  "a body of 1 MiB": [{ id: "evt_4", body: eventOf(MAX_BYTES) }, accepted],
  "a body larger than 1 MiB": [{ id: "evt_5", body: eventOf(MAX_BYTES + 1) }, 413],
  "another event": [{ id: "evt_6" }, accepted],
};
/** The events in `cases` that a receiver must print: each once. */
const printedIds = ["evt_1", "evt_4", "evt_6"];

describe("the receiver in", { timeout: 240_000 }, () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "waymark-docs-"));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  /** Edits the page's example with `edit` and writes it to a new folder. Skips the test if it cannot run here. */
  async function prepare(
    receiver: DocumentedReceiver,
    skip: TestContext["skip"],
    edit: (code: string) => string = (code) => code,
  ): Promise<string> {
    const own = await mkdtemp(join(folder, "receiver-"));
    const { language, usesPackage } = receiver;
    const block = onlyBlock(verify, language, (text) => text.includes("standardwebhooks") === usesPackage);
    await writeFile(join(own, receiver.file), edit(block));
    const obstacle = await findSkipReason(receiver, own);
    skip(obstacle !== null, `skipped: ${obstacle}`);
    return own;
  }

  it.for(documentedReceivers)("$name accepts only our recent requests", async (receiver, { skip }) => {
    const own = await prepare(receiver, skip);
    const { url, output } = await startDocumentedReceiver(receiver, { folder: own, secret });
    const responses: Record<string, number> = {};
    for (const [name, [sent]] of Object.entries(cases)) responses[name] = await post(url, sent);
    const wanted = Object.entries(cases).map(([name, [, status]]) => [name, status]);
    expect(responses).toEqual(Object.fromEntries(wanted));
    await expect.poll(() => output().match(/evt_\d/g)).toEqual(printedIds);
  });

  it.for(documentedReceivers)("$name needs a secret", async (receiver, { skip }) => {
    const own = await prepare(receiver, skip);
    const started = startDocumentedReceiver(receiver, { folder: own, secret: "" });
    const outcome = await started.then(({ url }) => post(url), String);
    expect(String(outcome)).toMatch(receiver.startsWithoutSecret ? /^500$/ : /exited with (?!0:)/);
  });

  // The package has no setting for its tolerance.
  const withTolerance = documentedReceivers.filter(({ usesPackage }) => !usesPackage);
  it.for(withTolerance)("$name accepts the test vector if its age is allowed", async (receiver, { skip }) => {
    const own = await prepare(receiver, skip, allowAge);
    const started = { folder: own, secret: String(vector["secret"]) };
    const { url } = await startDocumentedReceiver(receiver, started);
    const command = onlyBlock(verify, "sh", (text) =>
      text.startsWith("curl -i http://127.0.0.1:9000/webhooks "),
    );
    expect(await statusOf(command, url)).toBe(accepted);
    expect(await statusOf(command.replace("Tromsø", "Tromso"), url)).toBe(rejected);
  });
});

/** Returns the example with a tolerance of 50 years. */
function allowAge(code: string): string {
  const changed = code
    .replace("5 * 60;", "50 * 365 * 24 * 60 * 60;")
    .replace(/5 \* 60$/m, "50 * 365 * 24 * 60 * 60")
    .replace("5 * time.Minute", "50 * 365 * 24 * time.Hour");
  expect(changed).not.toBe(code);
  return changed;
}

/** Runs the `curl -i` command of the page against another receiver. */
async function statusOf(command: string, url: string): Promise<number> {
  const script = command.replace("http://127.0.0.1:9000", url).replace("curl ", "curl --no-progress-meter ");
  const { stdout } = await promisify(execFile)("bash", ["-c", script]);
  return Number(/^HTTP\/1\.[01] (\d+)/.exec(stdout)?.[1]);
}
