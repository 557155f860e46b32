/** The server with the settings of the environment. */
import { toConfig } from "./config/config.ts";
import { readEnv } from "./config/env.ts";
import { StartupError } from "./platform/errors.ts";
import { runServer } from "./serve.ts";

/** Runs until a signal. What keeps it from starting is told in a sentence and a hint, and the exit code is 1. */
export async function runFromEnvironment(): Promise<void> {
  try {
    await runServer(toConfig(readEnv()));
  } catch (error) {
    if (!(error instanceof StartupError)) throw error;
    process.stderr.write(`${error.message}\n${error.hint}\n`);
    process.exitCode = 1;
  }
}
