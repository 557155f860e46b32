/** Entry point of the command line; launch.mjs starts it for `npx waymark`. */
import { enableNodeCompileCache } from "../core/compile-cache.ts";

enableNodeCompileCache();
const { runCommandLine } = await import("./program.ts");
process.exitCode = await runCommandLine(process.argv.slice(2));
