/**
 * Builds the console into `.console/`. `--when-stale` builds only where sources, packages or Node have changed since, and
 * never keeps the server from starting: with a console that cannot be built the API is still of use.
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
const SOURCES = import.meta.dirname;
const VITE = join(ROOT, "node_modules", "vite", "bin", "vite.js");
const TARGET = join(ROOT, ".console");
/** Holds the fingerprint of what was built. */
const STAMP = "fingerprint";

/** Answers whether there was something to build. */
export async function buildWhenStale(): Promise<boolean> {
  const fingerprint = await fingerprintOfSources();
  const built = await readFile(join(TARGET, STAMP), "utf8").catch(() => null);
  if (built === fingerprint) return false;
  await buildConsole(fingerprint);
  return true;
}

/** What is built stands in the place of the former at once, and whole. */
async function buildConsole(fingerprint: string): Promise<void> {
  const started = performance.now();
  say("Building the console…");
  const draft = `${TARGET}-${process.pid}`;
  try {
    await runVite(draft);
    await compressAssets(join(draft, "assets"));
    await writeFile(join(draft, STAMP), fingerprint);
    await putInPlace(draft);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  say(`The console is built (${((performance.now() - started) / 1_000).toFixed(1)} s).`);
}

/** In a process of its own: React and Apollo are built as the environment says, which is not always `production` here. */
async function runVite(outDir: string): Promise<void> {
  const flags = [
    "build",
    "--config",
    join(SOURCES, "vite.config.ts"),
    "--outDir",
    outDir,
    "--logLevel",
    "warn",
  ];
  const env = { NODE_ENV: "production", NO_COLOR: "1" };
  await promisify(execFile)(process.execPath, [VITE, ...flags], { cwd: ROOT, env });
}

async function putInPlace(draft: string): Promise<void> {
  const former = `${draft}-former`;
  try {
    if (existsSync(TARGET)) await rename(TARGET, former);
    await rename(draft, TARGET);
  } catch (error) {
    // Another build came between, of the same sources: its console stands there now.
    if (!existsSync(join(TARGET, STAMP))) throw error;
  } finally {
    await rm(former, { recursive: true, force: true });
  }
}

/** The last step, 11, takes twice as long for two per cent. */
const BROTLI_QUALITY = 10;

/** Once, so that the server never compresses them. */
async function compressAssets(folder: string): Promise<void> {
  const brotli = { params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } };
  const compress = async (name: string): Promise<void> => {
    const content = await readFile(join(folder, name));
    await writeFile(join(folder, `${name}.gz`), await promisify(gzip)(content, { level: 9 }));
    await writeFile(join(folder, `${name}.br`), await promisify(brotliCompress)(content, brotli));
  };
  await Promise.all((await readdir(folder)).map(compress));
}

/** Changes with every source and with every package. */
async function fingerprintOfSources(): Promise<string> {
  const hash = createHash("sha256");
  const entries = await readdir(SOURCES, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  for (const path of [...paths.toSorted(), join(ROOT, "package-lock.json")]) {
    const content = await readFile(path);
    hash.update(`${relative(ROOT, path)}\0${content.length}\0`).update(content);
  }
  return hash.digest("hex");
}

function say(sentence: string): void {
  process.stderr.write(`${sentence}\n`);
}

async function main(isForStart: boolean): Promise<void> {
  // Without the packages of development (`npm ci --omit=dev`) there is what was built before, or no console.
  if (isForStart && !existsSync(VITE)) return;
  try {
    if (isForStart) await buildWhenStale();
    else await buildConsole(await fingerprintOfSources());
  } catch (error) {
    say(`The console could not be built: ${wordsOf(error)}`);
    if (isForStart)
      say("Waymark starts all the same, with the console of the last build where there is one.");
    else process.exitCode = 1;
  }
}

/** Vite's own words, where it was Vite that failed. */
function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return "stderr" in error && typeof error.stderr === "string" ? error.stderr : error.message;
}

if (import.meta.main) await main(process.argv.includes("--when-stale"));
