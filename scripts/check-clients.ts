/**
 * `npx node scripts/check-clients.ts [NAME…]`: generates clients from `/openapi.json` with each tool, compiles them and calls the API.
 * Downloads are cached in `CLIENTS_CACHE` (`~/.cache/waymark-clients/check`). Tools whose requirements are not installed are
 * skipped. The calls go to `CLIENTS_URL` with `CLIENTS_KEY`; without them, a server is started.
 */
import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openTargetServer } from "./clients/target-server.ts";
import { clientGenerators, type ClientGenerator } from "./clients/generators.ts";

const STEP_TIMEOUT_MS = 20 * 60_000;
const EXPECTED_CALLS = 11;
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

function runStep(command: string, cwd: string, env: Record<string, string>): Step {
  const options = {
    cwd,
    env: { ...process.env, ...env },
    timeout: STEP_TIMEOUT_MS,
    encoding: "utf8",
  } as const;
  const { status, stdout, stderr } = spawnSync("sh", ["-c", command], options);
  return { isSuccessful: status === 0, output: `${stdout}\n${stderr}` };
}

/** Runs the steps of `tool` in an empty folder, and prints the output of a failing step. */
async function checkGenerator(tool: ClientGenerator, env: Record<string, string>): Promise<GeneratorResult> {
  const { name, version } = tool;
  const folder = await mkdtemp(join(tmpdir(), "waymark-client-"));
  const run = (command: string): Step => {
    const step = runStep(command, folder, env);
    if (!step.isSuccessful) console.error(`${name}: ${command}\n${step.output.trim().slice(-3_000)}\n`);
    return step;
  };
  try {
    const row: GeneratorResult = { tool: name, version, generates: "no", compiles: "no", calls: "-" };
    if (!run(tool.installCommand).isSuccessful || !run(tool.generateCommand).isSuccessful) return row;
    row.generates = "yes";
    if (!run(tool.compileCommand).isSuccessful) return row;
    row.compiles = "yes";
    if (tool.callCommand === null) return row;
    const { output } = run(tool.callCommand);
    return { ...row, calls: `${output.match(/^ok /gm)?.length ?? 0} of ${EXPECTED_CALLS}` };
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function main(names: readonly string[]): Promise<void> {
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(tmpdir(), "waymark-clients-"));
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => rm(folder, { recursive: true, force: true }));
  const server = cleanup.use(await openTargetServer(join(folder, "data")));
  const env: Record<string, string> = {
    CACHE: cache,
    PROGRAMS: fileURLToPath(new URL("clients/programs", import.meta.url)),
    BASE_URL: `${server.url}/v1`,
    API_KEY: server.key,
    GOFLAGS: "-mod=mod",
  };
  for (const [variable, path] of [
    ["DOCUMENT", "/openapi.json"],
    ["OPERATIONS", "/docs/operations.json"],
  ] as const) {
    env[variable] = join(folder, `${variable.toLowerCase()}.json`);
    await writeFile(env[variable], await (await fetch(server.url + path)).text());
  }
  const rows: GeneratorResult[] = [];
  for (const tool of clientGenerators.filter(({ name }) => names.length === 0 || names.includes(name))) {
    const missing = tool.requiredCommands.filter((command) => !hasCommand(command));
    if (missing.length > 0) console.log(`Skipped ${tool.name}: this machine has no ${missing.join(", ")}.`);
    else rows.push(await checkGenerator(tool, env));
  }
  console.table(rows);
  const isSuccessful = ({ generates, compiles, calls }: GeneratorResult): boolean =>
    generates === "yes" &&
    compiles === "yes" &&
    ["-", `${EXPECTED_CALLS} of ${EXPECTED_CALLS}`].includes(calls);
  if (!rows.every(isSuccessful)) process.exitCode = 1;
}

await main(process.argv.slice(2));
