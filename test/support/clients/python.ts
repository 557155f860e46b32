/** Runs programs that use the Python client, where this machine has Python and pip can install its packages. */
import { spawn } from "node:child_process";
import { glob } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { waitForExit, type EnvironmentVariables, type ProcessResult } from "../processes/cli-process.ts";

export const PYTHON_CLIENT = fileURLToPath(new URL("../../../clients/python", import.meta.url));

export type PythonEnvironment = Awaited<ReturnType<typeof preparePython>>;

export const HTTPX = "httpx==0.28.1";
export const MYPY = "mypy==2.4.1";
export const STANDARD_WEBHOOKS = "standardwebhooks==1.1.0";
const INSTALL_TIMEOUT_MS = 120_000;
const PROGRAM_TIMEOUT_MS = 900_000;

interface PythonOptions {
  /** httpx, and what else the programs need. Default: httpx. */
  packages?: readonly string[];
  /** The interpreter. Default: `python3`. */
  interpreter?: string;
}

/** Installs packages in `folder`. */
export async function preparePython(
  folder: string,
  { packages = [HTTPX], interpreter = "python3" }: PythonOptions = {},
) {
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
    const child = spawn(interpreter, args, { cwd: PYTHON_CLIENT, env: { ...env, ...environment }, timeout });
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
    if (version.code !== 0) return `skipped: there is no ${interpreter} of version 3.10 or later`;
    const pip = "-m pip install --quiet --no-input --timeout 5 --retries 0 --target".split(" ");
    const { code } = await start([...pip, folder, ...packages], {}, INSTALL_TIMEOUT_MS);
    return code === 0 ? null : `skipped: pip cannot install ${packages.join(", ")}`;
  };
  /** Runs Python in the folder of the client. */
  const run = (args: readonly string[], environment: EnvironmentVariables = {}) =>
    start(args, environment, PROGRAM_TIMEOUT_MS);
  return {
    /** Why programs can't run here; null if they can. */
    skipReason: await findSkipReason(),
    run,
    /** Runs a program of the client's tests, expects exit code 0, and returns the JSON that it prints. */
    async runJson(program: string, environment: EnvironmentVariables) {
      const result = await run([join("tests", program)], environment);
      expect(result).toMatchObject({ code: 0, stderr: "" });
      return JSON.parse(result.stdout) as unknown;
    },
  };
}

/** Returns the path of an interpreter of Python `version`, such as 3.10: on the PATH or of pyenv. Otherwise its name. */
export async function findPython(version: string): Promise<string> {
  const name = `python${version}`;
  const pyenv = process.env["PYENV_ROOT"] ?? join(homedir(), ".pyenv");
  const installed = await Array.fromAsync(glob(join(pyenv, "versions", `${version}.*`, "bin", name)));
  for (const path of [...installed, name]) {
    const child = spawn(path, ["-c", `import sys; sys.exit("%d.%d" % sys.version_info[:2] != "${version}")`]);
    const result = await waitForExit(child).catch(() => null);
    if (result?.code === 0) return path;
  }
  return name;
}
