/**
 * `npx node scripts/check-clients.ts [NAME…]`: generates clients from `/openapi.json` with each tool, compiles them and calls the API.
 * Spectral and Redocly lint the document, and Schemathesis sends generated requests: their result is in the column `compiles`.
 * Downloads are cached in `CLIENTS_CACHE` (`~/.cache/waymark-clients/check`). Tools whose requirements are not installed are
 * skipped. The calls go to `CLIENTS_URL` with `CLIENTS_KEY` and `CLIENTS_TEST_KEY`; without them, a server is
 * started.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { openTargetServer, type TargetServer } from "./clients/target-server.ts";
import { clientGenerators, type ClientGenerator } from "./clients/generators.ts";

const STEP_TIMEOUT_MS = 20 * 60_000;
const EXPECTED_CALLS = 13;
const cache = process.env["CLIENTS_CACHE"] ?? join(homedir(), ".cache", "waymark-clients", "check");

const hasCommand = (command: string): boolean =>
  spawnSync("which", [command], { stdio: "ignore" }).status === 0;

type Outcome = "yes" | "no" | "-";
interface GeneratorResult {
  tool: string;
  version: string;
  generates: Outcome;
  compiles: Outcome;
  calls: string;
}

interface Step {
  isSuccessful: boolean;
  output: string;
}

interface StepOptions {
  cwd: string;
  env: Record<string, string>;
  /** Ends the step; `runStep` then rejects. */
  signal: AbortSignal;
}

async function runStep(command: string, { cwd, env, signal }: StepOptions): Promise<Step> {
  const child = spawn("sh", ["-c", command], {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: STEP_TIMEOUT_MS,
    signal,
  });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { isSuccessful: child.exitCode === 0, output: `${stdout}\n${stderr}` };
}

/** Runs the steps of `tool` in an empty folder, and prints the output of a failing step. */
async function checkGenerator(
  tool: ClientGenerator,
  options: Omit<StepOptions, "cwd">,
): Promise<GeneratorResult> {
  const { name, version } = tool;
  const folder = await mkdtemp(join(tmpdir(), "waymark-client-"));
  const run = async (command: string): Promise<Step> => {
    const step = await runStep(command, { ...options, cwd: folder });
    if (!step.isSuccessful) console.error(`${name}: ${command}\n${step.output.trim().slice(-3_000)}\n`);
    return step;
  };
  try {
    const row: GeneratorResult = { tool: name, version, generates: "no", compiles: "no", calls: "-" };
    for (const command of [tool.installCommand, tool.generateCommand])
      if (!(await run(command)).isSuccessful) return row;
    row.generates = "yes";
    if (!(await run(tool.compileCommand)).isSuccessful) return row;
    row.compiles = "yes";
    if (tool.callCommand === null) return row;
    const { output } = await run(tool.callCommand);
    return { ...row, calls: `${output.match(/^ok /gm)?.length ?? 0} of ${EXPECTED_CALLS}` };
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Returns the Marking Number of a job that the key can see. */
async function findMarkingNumber({ url, key }: TargetServer): Promise<string> {
  const response = await fetch(`${url}/v1/jobs?page_size=1`, { headers: { "x-api-key": key } });
  const { data } = (await response.json()) as { data: { items: { marking_number: string }[] } };
  return data.items[0]?.marking_number ?? "";
}

async function main(names: readonly string[]): Promise<void> {
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(tmpdir(), "waymark-clients-"));
  await using cleanup = new AsyncDisposableStack();
  // Ends the current step, so that the server and its databases are stopped before this process ends.
  const interruption = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => interruption.abort());
  cleanup.defer(() => rm(folder, { recursive: true, force: true }));
  const server = cleanup.use(await openTargetServer(join(folder, "data")));
  const env = {
    CACHE: cache,
    PROGRAMS: fileURLToPath(new URL("clients/programs", import.meta.url)),
    BASE_URL: `${server.url}/v1`,
    API_KEY: server.key,
    TEST_API_KEY: server.testKey,
    GOFLAGS: "-mod=mod",
    DOCUMENT: join(folder, "document.json"),
    MARKING_NUMBER: await findMarkingNumber(server),
  };
  await writeFile(env.DOCUMENT, await (await fetch(`${server.url}/openapi.json`)).text());
  const rows: GeneratorResult[] = [];
  for (const tool of clientGenerators.filter(({ name }) => names.length === 0 || names.includes(name))) {
    const missing = tool.requiredCommands.filter((command) => !hasCommand(command));
    if (missing.length > 0) console.log(`Skipped ${tool.name}: this machine has no ${missing.join(", ")}.`);
    else rows.push(await checkGenerator(tool, { env, signal: interruption.signal }));
  }
  console.table(rows);
  const isSuccessful = ({ generates, compiles, calls }: GeneratorResult): boolean =>
    generates === "yes" &&
    compiles === "yes" &&
    ["-", `${EXPECTED_CALLS} of ${EXPECTED_CALLS}`].includes(calls);
  if (!rows.every(isSuccessful)) process.exitCode = 1;
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof Error && error.name === "AbortError")) throw error;
  console.error("Interrupted. The server is stopped.");
  process.exitCode = 1;
}
