/**
 * `npm run clients:check [NAME…]`: generates clients from `/openapi.json` with each tool, compiles them and makes real calls
 * to the product. Fetched tools stay in `CLIENTS_CACHE` (`~/.cache/waymark-clients`); a tool that the machine lacks the
 * means for is skipped. `CLIENTS_URL` and `CLIENTS_KEY` name a running product; without them one is started.
 */
import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openProduct } from "./clients/product.ts";
import { tools, type Tool } from "./clients/tools.ts";

const STEP_TIMEOUT_MS = 20 * 60_000;
const CALLS = 11;
const cache = process.env["CLIENTS_CACHE"] ?? join(homedir(), ".cache", "waymark-clients", "check");

const has = (command: string): boolean => spawnSync("which", [command], { stdio: "ignore" }).status === 0;

type Outcome = "yes" | "no" | "-";
interface Row {
  tool: string;
  version: string;
  generates: Outcome;
  compiles: Outcome;
  calls: string;
}

interface Step {
  isDone: boolean;
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
  return { isDone: status === 0, output: `${stdout}\n${stderr}` };
}

/** Runs the steps of `tool` in an empty folder; the output of the step that fails is printed. */
async function check(tool: Tool, env: Record<string, string>): Promise<Row> {
  const { name, version } = tool;
  const folder = await mkdtemp(join(tmpdir(), "waymark-client-"));
  const run = (command: string): Step => {
    const step = runStep(command, folder, env);
    if (!step.isDone) console.error(`${name}: ${command}\n${step.output.trim().slice(-3_000)}\n`);
    return step;
  };
  try {
    const row: Row = { tool: name, version, generates: "no", compiles: "no", calls: "-" };
    if (!run(tool.fetch).isDone || !run(tool.generate).isDone) return row;
    row.generates = "yes";
    if (!run(tool.compile).isDone) return row;
    row.compiles = "yes";
    if (tool.calls === null) return row;
    const { output } = run(tool.calls);
    return { ...row, calls: `${output.match(/^ok /gm)?.length ?? 0} of ${CALLS}` };
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function main(names: readonly string[]): Promise<void> {
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(tmpdir(), "waymark-clients-"));
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => rm(folder, { recursive: true, force: true }));
  const product = cleanup.use(await openProduct(join(folder, "data")));
  const env: Record<string, string> = {
    CACHE: cache,
    PROGRAMS: fileURLToPath(new URL("clients/programs", import.meta.url)),
    BASE_URL: `${product.url}/v1`,
    API_KEY: product.key,
    GOFLAGS: "-mod=mod",
  };
  for (const [variable, path] of [
    ["DOCUMENT", "/openapi.json"],
    ["OPERATIONS", "/docs/operations.json"],
  ] as const) {
    env[variable] = join(folder, `${variable.toLowerCase()}.json`);
    await writeFile(env[variable], await (await fetch(product.url + path)).text());
  }
  const rows: Row[] = [];
  for (const tool of tools.filter(({ name }) => names.length === 0 || names.includes(name))) {
    const missing = tool.needs.filter((command) => !has(command));
    if (missing.length > 0)
      console.log(`${tool.name} is skipped: this machine has no ${missing.join(", ")}.`);
    else rows.push(await check(tool, env));
  }
  console.table(rows);
  const isGood = ({ generates, compiles, calls }: Row): boolean =>
    generates === "yes" && compiles === "yes" && ["-", `${CALLS} of ${CALLS}`].includes(calls);
  if (!rows.every(isGood)) process.exitCode = 1;
}

await main(process.argv.slice(2));
