/** The command line: `npx waymark`, by way of launch.mjs. */
import { enableNodeCompileCache } from "../platform/compile-cache.ts";

enableNodeCompileCache();
const { runCommandLine } = await import("./program.ts");
process.exitCode = await runCommandLine(process.argv.slice(2));
