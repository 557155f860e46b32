#!/usr/bin/env node
/** `npx waymark`: runs `main.ts` with the project's own Node. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runNode } from "./project-node.mjs";

const main = join(fileURLToPath(new URL(".", import.meta.url)), "main.ts");
process.exit(await runNode([main, ...process.argv.slice(2)]));
