#!/usr/bin/env node
/**
 * `npx waymark`: runs `main.ts` on a Node that strips types, whatever Node the system has. Plain JavaScript for Node 20,
 * because it is the one file that starts before the project's own Node is known.
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { constants } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const leastMajor = 24;
const here = dirname(fileURLToPath(import.meta.url));
const modules = join(here, "..", "..", "node_modules");

/**
 * The `node` package gets its program by an install script. Where scripts are off (`--ignore-scripts`), the platform's
 * package may still have been installed beside it, and failing that the Node that runs this file may be new enough.
 */
function findNode() {
  const platform = process.platform === "win32" ? "win" : process.platform;
  const prefix = platform === "darwin" && process.arch === "arm64" ? "node-bin" : "node";
  const program = platform === "win" ? "node.exe" : "node";
  const candidates = [
    join(modules, "node", "bin", program),
    join(modules, `${prefix}-${platform}-${process.arch}`, "bin", program),
  ];
  const found = candidates.find((candidate) => existsSync(candidate));
  if (found !== undefined) return found;
  return Number.parseInt(process.versions.node, 10) >= leastMajor ? process.execPath : null;
}

function run(node) {
  const child = spawn(node, [join(here, "main.ts"), ...process.argv.slice(2)], { stdio: "inherit" });
  // A terminal's Ctrl-C reaches the child by itself, and a second one may mean "at once"; any other signal is handed on.
  const forward = (signal) => {
    if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal);
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, forward);
  child.on("error", (error) => {
    console.error(`waymark: ${node} does not start: ${error.message}`);
    process.exit(1);
  });
  child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
}

const node = findNode();
if (node === null) {
  console.error(
    `waymark: needs Node ${leastMajor} or later, and this is ${process.version}.\n` +
      "Run `npm ci` in the project with install scripts allowed: it brings its own Node.",
  );
  process.exit(1);
}
run(node);
