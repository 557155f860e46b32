/**
 * `npm start`: builds the console, the guide and the clients if they are stale, then runs the server with the memory settings of
 * the image. npm puts the project's own Node first on the path.
 */
import { spawn, spawnSync } from "node:child_process";
import { constants } from "node:os";
import { fileURLToPath } from "node:url";

if (Number.parseInt(process.versions.node, 10) < 24) {
  process.stderr.write(
    `waymark: needs Node 24 or later, but this is ${process.version}.\n` +
      "Run `npm ci` in the project with install scripts allowed: it installs the project's own Node.\n",
  );
  process.exit(1);
}
const parent = process.ppid;
const pathOf = (name) => fileURLToPath(new URL(name, import.meta.url));

const { status } = spawnSync(process.execPath, [pathOf("build.ts"), "--if-stale"], { stdio: "inherit" });
if (status !== 0) process.exit(status ?? 1);
const args = ["--max-semi-space-size=16", "--heap-growing-percent=100", pathOf("main.ts")];
const env = { ...process.env, MALLOC_MMAP_THRESHOLD_: "1048576" };
const server = spawn(process.execPath, args, { stdio: "inherit", env });
server.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
const stop = (signal) => {
  clearInterval(check);
  server.kill(signal);
};
// npm sends a signal to its shell, which may end without passing it on. `nohup node src/start.mjs &` has no npm.
const check = setInterval(() => {
  if (env.npm_lifecycle_event !== undefined && process.ppid !== parent) stop("SIGTERM");
}, 250);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, stop);
