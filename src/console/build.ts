/**
 * Builds the console into `.console/`. With `--if-stale` it builds only if sources, packages or Node have changed,
 * and a failed build does not stop the server from starting, because the API works without the console.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const SOURCE_DIR = import.meta.dirname;
const VITE = join(ROOT, "node_modules", "vite", "bin", "vite.js");
const OUTPUT_DIR = join(ROOT, ".console");
/** Holds the hash of the sources that were built. */
const FINGERPRINT_FILE = "fingerprint";

/** Builds if the sources have changed. Returns true if it built. */
export async function buildIfStale(): Promise<boolean> {
  const fingerprint = await fingerprintOfSources();
  const builtFingerprint = await readFile(join(OUTPUT_DIR, FINGERPRINT_FILE), "utf8").catch(() => null);
  if (builtFingerprint === fingerprint) return false;
  await buildConsole(fingerprint);
  return true;
}

/** Builds into a staging directory, then replaces the output by renaming. */
async function buildConsole(fingerprint: string): Promise<void> {
  const started = performance.now();
  printStatus("Building the console…");
  const stagingDir = `${OUTPUT_DIR}-${process.pid}`;
  try {
    await runVite(stagingDir);
    await compressAssets(join(stagingDir, "assets"));
    await writeFile(join(stagingDir, FINGERPRINT_FILE), fingerprint);
    await replaceOutput(stagingDir);
  } finally {
    await rm(stagingDir, { recursive: true, force: true });
  }
  printStatus(`The console is built (${((performance.now() - started) / 1_000).toFixed(1)} s).`);
}

/** Runs Vite in a child process with NODE_ENV=production, which this process may not have. */
async function runVite(outDir: string): Promise<void> {
  const flags = [
    "build",
    "--config",
    join(SOURCE_DIR, "vite.config.ts"),
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

/** Level 11 takes twice as long for 2 % smaller files. */
const BROTLI_QUALITY = 10;

/** Compresses assets at build time, so that the server does not have to. */
async function compressAssets(folder: string): Promise<void> {
  const brotli = { params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } };
  const compress = async (name: string): Promise<void> => {
    const content = await readFile(join(folder, name));
    await writeFile(join(folder, `${name}.gz`), await promisify(gzip)(content, { level: 9 }));
    await writeFile(join(folder, `${name}.br`), await promisify(brotliCompress)(content, brotli));
  };
  await Promise.all((await readdir(folder)).map(compress));
}

/** Hash of all sources and of package-lock.json. */
async function fingerprintOfSources(): Promise<string> {
  const hash = createHash("sha256");
  const entries = await readdir(SOURCE_DIR, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  for (const path of [...paths.toSorted(), join(ROOT, "package-lock.json")]) {
    const content = await readFile(path);
    hash.update(`${relative(ROOT, path)}\0${content.length}\0`).update(content);
  }
  return hash.digest("hex");
}

function printStatus(message: string): void {
  process.stderr.write(`${message}\n`);
}

async function main(isForStart: boolean): Promise<void> {
  // Without development packages (`npm ci --omit=dev`) the previous build is used, if there is one.
  if (isForStart && !existsSync(VITE)) return;
  try {
    if (isForStart) await buildIfStale();
    else await buildConsole(await fingerprintOfSources());
  } catch (error) {
    printStatus(`The console could not be built: ${errorOutput(error)}`);
    if (isForStart)
      printStatus("Waymark starts anyway, with the previous build of the console if there is one.");
    else process.exitCode = 1;
  }
}

/** Vite's stderr if Vite failed, else the error message. */
function errorOutput(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return "stderr" in error && typeof error.stderr === "string" ? error.stderr : error.message;
}

if (import.meta.main) await main(process.argv.includes("--if-stale"));
