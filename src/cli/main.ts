/** The command line: `npx waymark`, by way of launch.mjs. */
import { keepCompiled } from "../platform/compile-cache.ts";

keepCompiled();
const { runCommandLine } = await import("./program.ts");
process.exitCode = await runCommandLine(process.argv.slice(2));
