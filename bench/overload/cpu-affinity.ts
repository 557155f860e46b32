/** Which process runs where: the load must not take from the server what it asks of it. */
import { execFileSync } from "node:child_process";
import { cpus } from "node:os";

/** The server with its PostgreSQL, and the load. Null: on this system nobody can be bound to a core. */
export const cores = process.platform === "linux" && cpus().length > 1 ? { server: 0, load: 1 } : null;

/** All threads of `pid`, and whatever it starts from now on. */
export function pinToCore(core: number | undefined, pid: number): void {
  if (core !== undefined)
    execFileSync("taskset", ["-a", "-c", "-p", String(core), String(pid)], { stdio: "ignore" });
}
