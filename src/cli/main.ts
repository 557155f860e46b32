#!/usr/bin/env node
/** Entry point of the command line, `npx waymark`: npm puts the project's own Node first on the path. */
import { enableNodeCompileCache } from "../core/compile-cache.ts";

enableNodeCompileCache();
const { runCommandLine } = await import("./program.ts");
process.exitCode = await runCommandLine(process.argv.slice(2));
