/** Runs the example receivers of `docs/guide/webhooks/verify.md` as processes, in the languages installed on this machine. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { freePort } from "../free-port.ts";

export interface DocumentedReceiver {
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
}

const NODE_MODULES = fileURLToPath(new URL("../../../node_modules", import.meta.url));
/** A first Go build is slow on a busy machine. */
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

export const documentedReceivers: readonly DocumentedReceiver[] = [
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
    async prepare(folder) {
      const build = await run(folder, ["go", "build", "-o", "receiver", "receiver.go"], BUILD_TIMEOUT_MS);
      if (build.isTimedOut) return `go build took more than ${BUILD_TIMEOUT_MS / 1000} s`;
      if (build.code !== 0) throw new Error(build.errors);
      return null;
    },
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
  },
];

/** Returns why the receiver cannot run on this machine, or null. `folder` must contain its file. */
export async function findSkipReason(
  { versionCommand, prepare }: DocumentedReceiver,
  folder: string,
): Promise<string | null> {
  const { code } = await run(folder, versionCommand, INSTALL_TIMEOUT_MS);
  if (code !== 0) return `${versionCommand[0]} is not installed`;
  return (await prepare?.(folder)) ?? null;
}

/** Starts the receiver until the end of the test. Resolves with its URL when it listens. */
export async function startDocumentedReceiver(
  { start }: DocumentedReceiver,
  { folder, secret }: { folder: string; secret: string },
): Promise<string> {
  const port = String(await freePort());
  const child = spawnIn(folder, start(port), { PORT: port, WEBHOOK_SECRET: secret });
  onTestFinished(async () => {
    if (child.kill("SIGKILL")) await once(child, "exit");
  });
  await waitUntilListening(child);
  return `http://127.0.0.1:${port}/webhooks`;
}

/** Installs the package in the file's folder. Returns a skip reason if PyPI is unreachable. */
async function installFromPyPI(folder: string): Promise<string | null> {
  const importCheck = await run(folder, ["python3", "-c", "import standardwebhooks"], INSTALL_TIMEOUT_MS);
  if (importCheck.code === 0) return null;
  const pip = "python3 -m pip install --quiet --no-input --no-deps --timeout 5 --retries 0".split(" ");
  const install = [...pip, "--target", PACKAGES, "standardwebhooks==1.1.0"];
  const { code } = await run(folder, install, INSTALL_TIMEOUT_MS);
  return code === 0 ? null : "pip cannot install standardwebhooks";
}

function spawnIn(
  cwd: string,
  [program = "", ...args]: readonly string[],
  settings: Record<string, string> = {},
): ChildProcess {
  // Without cgo, Go builds faster. PYTHONPATH is where pip installed the package.
  const env = { ...process.env, CGO_ENABLED: "0", GOTOOLCHAIN: "local", PYTHONPATH: PACKAGES, ...settings };
  return spawn(program, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
}

interface CommandResult {
  /** Null if the command could not start or timed out. */
  code: number | null;
  isTimedOut: boolean;
  errors: string;
}

async function run(cwd: string, command: readonly string[], timeoutMs: number): Promise<CommandResult> {
  const child = spawnIn(cwd, command);
  let isTimedOut = false;
  const timer = setTimeout(() => {
    isTimedOut = true;
    child.kill("SIGKILL");
  }, timeoutMs);
  child.stdout?.resume();
  const errors = child.stderr ? text(child.stderr) : "";
  try {
    const [code] = (await once(child, "exit")) as [number | null];
    return { code, isTimedOut, errors: await errors };
  } catch (error) {
    return { code: null, isTimedOut, errors: String(error) };
  } finally {
    clearTimeout(timer);
  }
}

function waitUntilListening(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let output = "";
    const read = (chunk: Buffer): void => {
      output += chunk.toString();
      if (/listening on port|Development Server .* started/.test(output)) resolve();
    };
    child.stdout?.on("data", read);
    child.stderr?.on("data", read);
    child.on("error", reject);
    child.on("exit", (code) => reject(new Error(`The receiver exited with ${code}: ${output}`)));
  });
}
