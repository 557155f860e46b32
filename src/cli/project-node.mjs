/**
 * Runs a file with the project's own Node, which strips types. Plain JavaScript for Node 20, because the system's Node may run
 * this file.
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { constants } from "node:os";
import { fileURLToPath } from "node:url";

const minMajor = 24;
const ownNode = fileURLToPath(
  new URL(
    `../../node_modules/node/bin/${process.platform === "win32" ? "node.exe" : "node"}`,
    import.meta.url,
  ),
);

/** Returns the path of a Node to run, or null. With `npm ci --ignore-scripts`, the `node` package has no program. */
function findNode() {
  if (existsSync(ownNode)) return ownNode;
  return Number.parseInt(process.versions.node, 10) >= minMajor ? process.execPath : null;
}

/**
 * Runs Node with these arguments, forwards signals to it, and resolves with its exit code. Ends this process with code 1 if
 * there is no such Node. `env`: the environment, by default this process's.
 */
export function runNode(args, env) {
  const node = findNode();
  if (node === null) {
    console.error(
      `waymark: needs Node ${minMajor} or later, but this is ${process.version}.\n` +
        "Run `npm ci` in the project with install scripts allowed: it installs the project's own Node.",
    );
    process.exit(1);
  }
  const child = spawn(node, args, { stdio: "inherit", env });
  // The terminal sends Ctrl-C to the child too, and a second SIGINT would kill it. Forward all other signals.
  const forward = (signal) => {
    if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal);
  };
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
  for (const signal of signals) process.on(signal, forward);
  return new Promise((resolve) => {
    child.on("error", (error) => {
      console.error(`waymark: cannot start ${node}: ${error.message}`);
      process.exit(1);
    });
    child.on("exit", (code, signal) => {
      for (const each of signals) process.off(each, forward);
      resolve(code ?? 128 + constants.signals[signal]);
    });
  });
}
