/**
 * Builds the console, the guide and the clients into `.site/`. With `--if-stale` it builds only if their sources or packages have changed, and
 * a failed build does not stop the server from starting, because the API works without them.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { isInstalled } from "./sdk/installed.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const CONSOLE_DIR = join(ROOT, "src", "console");
/** What the output depends on, besides this file and the packages. */
const SOURCE_DIRS = [
  CONSOLE_DIR,
  join(ROOT, "src", "guide"),
  join(ROOT, "src", "sdk"),
  join(ROOT, "clients"),
  join(ROOT, "docs", "guide"),
  join(ROOT, "docs", "operate"),
  join(ROOT, "src", "api", "rest"),
  join(ROOT, "schema"),
];
const VITE = join(ROOT, "node_modules", "vite", "bin", "vite.js");
const OUTPUT_DIR = join(ROOT, ".site");
/** Holds the hash of the sources that were built. */
const FINGERPRINT_FILE = "fingerprint";

/** Builds if the sources have changed. Returns true if it built. */
export async function buildIfStale(): Promise<boolean> {
  const fingerprint = await fingerprintOfSources();
  const builtFingerprint = await readFile(join(OUTPUT_DIR, FINGERPRINT_FILE), "utf8").catch(() => null);
  if (builtFingerprint === fingerprint) return false;
  await build(fingerprint);
  return true;
}

/** Builds into a staging directory, then replaces the output by renaming. */
async function build(fingerprint: string): Promise<void> {
  const started = performance.now();
  printStatus("Building the console, the guide and the clients…");
  const stagingDir = `${OUTPUT_DIR}-${process.pid}`;
  try {
    await runVite(join(stagingDir, "console"));
    // Imported here, because the packages that it needs are absent in production.
    const { buildGuide } = await import("./guide/build.ts");
    await buildGuide(join(stagingDir, "guide"), fingerprint.slice(0, 12));
    const { buildSdk } = await import("./sdk/build.ts");
    await buildSdk(join(stagingDir, "sdk"));
    await writeFile(join(stagingDir, FINGERPRINT_FILE), fingerprint);
    await replaceOutput(stagingDir);
  } finally {
    await rm(stagingDir, { recursive: true, force: true });
  }
  printStatus(
    `The console, the guide and the clients are built (${((performance.now() - started) / 1_000).toFixed(1)} s).`,
  );
}

/** Runs Vite in a child process with NODE_ENV=production, which this process may not have. */
async function runVite(outDir: string): Promise<void> {
  const flags = [
    "build",
    "--config",
    join(CONSOLE_DIR, "vite.config.ts"),
    "--outDir",
    outDir,
    "--logLevel",
    "warn",
  ];
  const env = { NODE_ENV: "production", NO_COLOR: "1" };
  await promisify(execFile)(process.execPath, [VITE, ...flags], { cwd: ROOT, env });
}

async function replaceOutput(stagingDir: string): Promise<void> {
  const previousDir = `${stagingDir}-former`;
  try {
    if (existsSync(OUTPUT_DIR)) await rename(OUTPUT_DIR, previousDir);
    await rename(stagingDir, OUTPUT_DIR);
  } catch (error) {
    // A concurrent build of the same sources may have replaced it first.
    if (!existsSync(join(OUTPUT_DIR, FINGERPRINT_FILE))) throw error;
  } finally {
    await rm(previousDir, { recursive: true, force: true });
  }
}

/** Hash of all sources, of this file, of the changelog and of package-lock.json. */
async function fingerprintOfSources(): Promise<string> {
  const hash = createHash("sha256");
  const all = (await Promise.all(SOURCE_DIRS.map(filesIn))).flat();
  const paths = all.filter((path) => !isInstalled(relative(ROOT, path))).toSorted();
  const others = ["CHANGELOG.md", "package-lock.json"].map((name) => join(ROOT, name));
  for (const path of [...paths, import.meta.filename, ...others]) {
    const content = await readFile(path);
    hash.update(`${relative(ROOT, path)}\0${content.length}\0`).update(content);
  }
  return hash.digest("hex");
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
}

function printStatus(message: string): void {
  process.stderr.write(`${message}\n`);
}

async function main(isForStart: boolean): Promise<void> {
  // Without development packages (`npm ci --omit=dev`) the previous build is used, if there is one.
  if (isForStart && !existsSync(VITE)) return;
  try {
    if (isForStart) await buildIfStale();
    else await build(await fingerprintOfSources());
  } catch (error) {
    printStatus(`The console, the guide and the clients could not be built: ${errorOutput(error)}`);
    if (isForStart) printStatus("Waymark starts anyway, with the previous build if there is one.");
    else process.exitCode = 1;
  }
}

/** Vite's stderr if Vite failed, else the error message. */
function errorOutput(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return "stderr" in error && typeof error.stderr === "string" ? error.stderr : error.message;
}

if (import.meta.main) await main(process.argv.includes("--if-stale"));
