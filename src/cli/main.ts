/** The command line: `npx waymark`, by way of launch.mjs. */
import { runCommandLine } from "./program.ts";

process.exitCode = await runCommandLine(process.argv.slice(2));
