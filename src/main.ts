/** Waymark's server, as `npm start` runs it. */
import { toConfig } from "./config/config.ts";
import { readEnv } from "./config/env.ts";
import { StartupError } from "./platform/errors.ts";
import { runServer } from "./serve.ts";

try {
  await runServer(toConfig(readEnv()));
} catch (error) {
  if (!(error instanceof StartupError)) throw error;
  process.stderr.write(`${error.message}\n${error.hint}\n`);
  process.exitCode = 1;
}
