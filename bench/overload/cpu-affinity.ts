/** Binds the server and the load generator to different cores, so that the load takes no CPU time from the server. */
import { execFileSync } from "node:child_process";
import { cpus } from "node:os";

/** Cores for the server with PostgreSQL, and for the load. Null if this system cannot bind processes to cores. */
export const cores = process.platform === "linux" && cpus().length > 1 ? { server: 0, load: 1 } : null;

/** Binds all threads of `pid`, and the processes that it starts later. */
export function pinToCore(core: number | undefined, pid: number): void {
  if (core !== undefined)
    execFileSync("taskset", ["-a", "-c", "-p", String(core), String(pid)], { stdio: "ignore" });
}
