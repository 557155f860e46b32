/** A process runs out of file descriptors while traffic runs: who is connected is served, and it recovers by itself. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { promisify } from "node:util";
import { expect, it, onTestFinished, vi } from "vitest";
import { sql } from "../../src/platform/postgres/sql.ts";
import { startFaultTraffic } from "../support/faults/traffic.ts";
import { verifyDeliveries } from "../support/faults/delivery-checks.ts";
import { eventually, readinessStatus } from "../support/faults/change-load.ts";
import { openFaultFixture } from "../support/faults/webhook.fixture.ts";

vi.setConfig({ testTimeout: 120_000 });

const PRLIMIT = "/usr/bin/prlimit";
const canLimit = process.platform === "linux" && existsSync(PRLIMIT);
/** That the process may open beyond those that it has. */
const SPARE = 8;

// Other systems have no way to take file descriptors from a process that runs.
// evidence: file-descriptors-exhausted
it.skipIf(!canLimit)("out of file descriptors, by connections that ask for nothing", async () => {
  const world = await openFaultFixture();
  const numbers = await world.addJobs(5);
  const server = await world.startServer("all");
  const traffic = await startFaultTraffic(world, server, numbers);
  await traffic.waitForSuccesses();

  await limitFiles(server.pid, (await openFiles(server.pid)) + SPARE);
  const crowd = crowdAt(server.url, 10 * SPARE);
  await eventually(() => expect(crowd.turnedAway()).toBeGreaterThan(SPARE));
  await traffic.waitForSuccesses();
  // The first connection to a receiver is one more that there is no descriptor for: that is not the receiver's fault.
  const endpoint = await world.addEndpoint({ owner: world.contractor });
  await world.addJobs(1, "assigned");
  world.notifyWorkers();
  await eventually(async () => expect(await outcomesOfDeliveries()).toContain("internal_error"));

  crowd.leave();
  await traffic.waitForSuccesses();
  await traffic.stopAndVerify();
  await verifyDeliveries(world, { duplicates: 0 });
  expect(endpoint.received().length).toBeGreaterThan(0);
  const blamed = sql`select outcome from webhook_attempt where outcome <> 'delivered'`;
  expect(await world.database.query(blamed)).toEqual([]);
  expect(await readinessStatus(server)).toBe(200);

  async function outcomesOfDeliveries(): Promise<(string | null)[]> {
    const rows = await world.database.query<{ outcome: string | null }>(
      sql`select outcome from webhook_delivery`,
    );
    return rows.map(({ outcome }) => outcome);
  }
});

async function openFiles(pid: number): Promise<number> {
  return (await readdir(`/proc/${pid}/fd`)).length;
}

async function limitFiles(pid: number, count: number): Promise<void> {
  await promisify(execFile)(PRLIMIT, ["--pid", String(pid), `--nofile=${count}:`]);
}

/** So many connections that say nothing; whoever is turned away comes again. */
function crowdAt(url: string, count: number) {
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  let [turnedAway, isOver] = [0, false];
  const come = (): void => {
    const socket = connect(Number(port), hostname);
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => {
      sockets.delete(socket);
      turnedAway += 1;
      if (!isOver) setTimeout(come, 20);
    });
  };
  for (let at = 0; at < count; at += 1) come();
  const leave = (): void => {
    isOver = true;
    for (const socket of sockets) socket.destroy();
  };
  onTestFinished(leave);
  return { turnedAway: () => turnedAway, leave };
}
