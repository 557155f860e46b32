/** Runs programs that use the Python client, where this machine has Python and pip can install its packages. */
import { spawn } from "node:child_process";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { waitForExit, type EnvironmentVariables, type ProcessResult } from "../processes/cli-process.ts";

export const PYTHON_CLIENT = fileURLToPath(new URL("../../../clients/python", import.meta.url));

export interface PythonEnvironment {
  /** Why programs can't run here; null if they can. */
  skipReason: string | null;
  /** Runs Python in the folder of the client. */
  run: (args: readonly string[], environment?: EnvironmentVariables) => Promise<ProcessResult>;
  /** Runs a program of the client's tests, expects exit code 0, and returns the JSON that it prints. */
  runJson: (program: string, environment: EnvironmentVariables) => Promise<unknown>;
}

const HTTPX = "httpx==0.28.1";
export const MYPY = "mypy==2.4.1";
export const STANDARD_WEBHOOKS = "standardwebhooks==1.1.0";
const INSTALL_TIMEOUT_MS = 120_000;
const PROGRAM_TIMEOUT_MS = 900_000;

/** Installs httpx and `packages` in `folder`. */
export async function preparePython(
  folder: string,
  packages: readonly string[] = [],
): Promise<PythonEnvironment> {
  const start = async (
    args: readonly string[],
    environment: EnvironmentVariables,
    timeout: number,
  ): Promise<ProcessResult> => {
    const env = {
      ...process.env,
      PYTHONPATH: `${folder}${delimiter}${PYTHON_CLIENT}`,
      PYTHONDONTWRITEBYTECODE: "1",
    };
    const child = spawn("python3", args, { cwd: PYTHON_CLIENT, env: { ...env, ...environment }, timeout });
    return await waitForExit(child).catch((error: unknown) => ({
      code: -1,
      stdout: "",
      stderr: String(error),
    }));
  };
  const findSkipReason = async (): Promise<string | null> => {
    const version = await start(
      ["-c", "import sys; sys.exit(sys.version_info < (3, 10))"],
      {},
      INSTALL_TIMEOUT_MS,
    );
    if (version.code !== 0) return "skipped: there is no python3 of version 3.10 or later";
    const pip = "-m pip install --quiet --no-input --timeout 5 --retries 0 --target".split(" ");
    const { code } = await start([...pip, folder, HTTPX, ...packages], {}, INSTALL_TIMEOUT_MS);
    return code === 0 ? null : `skipped: pip cannot install ${[HTTPX, ...packages].join(", ")}`;
  };
  const run: PythonEnvironment["run"] = (args, environment = {}) =>
    start(args, environment, PROGRAM_TIMEOUT_MS);
  return {
    skipReason: await findSkipReason(),
    run,
    async runJson(program, environment) {
      const result = await run([join("tests", program)], environment);
      expect(result).toMatchObject({ code: 0, stderr: "" });
      return JSON.parse(result.stdout) as unknown;
    },
  };
}
