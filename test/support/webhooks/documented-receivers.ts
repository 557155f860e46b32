/** Runs the example receivers of `docs/guide/webhooks/verify.md` as processes, in the languages installed on this machine. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { copyFile, symlink } from "node:fs/promises";
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
  /** True if it starts without a secret and then answers 500. */
  startsWithoutSecret?: true;
}

export interface RunningReceiver {
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
export async function findSkipReason(
  { versionCommand, prepare }: DocumentedReceiver,
  folder: string,
): Promise<string | null> {
  const { code } = await run(folder, versionCommand, INSTALL_TIMEOUT_MS);
  if (code !== 0) return `${versionCommand[0]} is not installed`;
  return (await prepare?.(folder)) ?? null;
}

/** Starts the receiver until the end of the test. Resolves when it listens; throws if it exits. */
export async function startDocumentedReceiver(
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
  const { isTimedOut, code, errors } = await run(folder, command, BUILD_TIMEOUT_MS);
  if (isTimedOut) return `${command.slice(0, 2).join(" ")} took more than ${BUILD_TIMEOUT_MS / 1000} s`;
  if (code !== 0) throw new Error(errors);
  return null;
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
