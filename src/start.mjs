/** `npm start`: builds the console, the guide and the clients if they are stale, then runs the server with the memory settings of the image. */
import { fileURLToPath } from "node:url";
import { runNode } from "./cli/project-node.mjs";

const parent = process.ppid;
const pathOf = (name) => fileURLToPath(new URL(name, import.meta.url));

const code = await runNode([pathOf("build.ts"), "--if-stale"]);
if (code !== 0) process.exit(code);
const env = { ...process.env, MALLOC_MMAP_THRESHOLD_: "1048576" };
const exited = runNode(["--max-semi-space-size=16", "--heap-growing-percent=100", pathOf("main.ts")], env);
// npm sends a signal to its shell, which may end without passing it on. `nohup node src/start.mjs &` has no npm.
if (env.npm_lifecycle_event !== undefined) {
  const check = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(check);
    process.kill(process.pid, "SIGTERM");
  }, 250);
  // A terminal that closes also ends npm: one signal is enough.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, () => clearInterval(check));
}
process.exit(await exited);
