/** Runs a starter kit of `clients/examples` with the commands of its README. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { promisify, stripVTControlCharacters } from "node:util";
import { onTestFinished } from "vitest";
import manifest from "../../../package.json" with { type: "json" };
import { packageFiles } from "../../../src/sdk/api.ts";
import type { AppInstance } from "../app/app-instance.ts";
import { eventually } from "../eventually.ts";

/** The environment of the kit, besides PATH. */
export type KitSettings = Readonly<Record<string, string>>;

export type RunningKit = ReturnType<typeof runNpm>;

export const kitFolder = (kit: string): string => join(import.meta.dirname, "../../../clients/examples", kit);

const isSource = (path: string): boolean => basename(path) !== "node_modules" && !path.includes(".sqlite");

/** Copies a kit, and installs the client that the app serves, as the kit's README says. Returns the folder; disposing deletes it. */
export async function installKit(
  kit: string,
  { url }: Pick<AppInstance, "url">,
): Promise<AsyncDisposable & { path: string }> {
  const folder = await mkdtempDisposable(join(tmpdir(), `waymark-${kit}-`));
  await cp(kitFolder(kit), folder.path, { recursive: true, filter: isSource });
  const flags = ["--no-audit", "--no-fund", "--prefer-offline"];
  await promisify(execFile)(
    "npm",
    ["install", ...flags, `${url}/sdk/${packageFiles(manifest.version).typescript}`],
    {
      cwd: folder.path,
    },
  );
  return { path: folder.path, [Symbol.asyncDispose]: () => folder.remove() };
}

/** Runs npm in a folder, such as `npm start`. The test ends it. */
export function runNpm(folder: string, args: readonly string[], settings?: KitSettings) {
  return run(folder, ["npm", ...args], settings);
}

/** Runs the script that installs and starts a kit. The test ends it. */
export function runScript(folder: string, settings?: KitSettings) {
  return run(folder, ["sh", "run.sh"], settings);
}

function run(folder: string, [command = "", ...args]: readonly string[], settings: KitSettings = {}) {
  const child = spawn(command, args, {
    cwd: folder,
    // Kits run on the Node of this process.
    env: {
      PATH: `${dirname(process.execPath)}:${process.env["PATH"]}`,
      HOME: process.env["HOME"],
      ...settings,
    },
    stdio: ["ignore", "pipe", "pipe"],
    // A process group, which ends as a whole.
    detached: true,
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output += text));
  const exited = once(child, "close").then(([code]) => code as number | null);
  const stop = async (signal: NodeJS.Signals = "SIGTERM"): Promise<number | null> => {
    if (child.exitCode === null && child.signalCode === null) process.kill(-(child.pid as number), signal);
    return await exited;
  };
  onTestFinished(async () => void (await stop("SIGKILL")));
  return {
    /** Standard output and standard error so far, without colours. */
    output: () => stripVTControlCharacters(output),
    /** Resolves when the output contains `text`. */
    async waitFor(text: string) {
      await eventually(() => {
        if (!stripVTControlCharacters(output).includes(text)) throw new Error(`No "${text}" in: ${output}`);
      });
    },
    /** Ends the command and the processes that it started. Resolves with the exit code of the command, or null. */
    stop,
    exited,
  };
}
