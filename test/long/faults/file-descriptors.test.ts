/** A process runs out of file descriptors under traffic: open connections are served, and it recovers without a restart. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { promisify } from "node:util";
import { expect, it, onTestFinished, vi } from "vitest";
import { sql } from "../../../src/core/postgres/sql.ts";
import { startFaultTraffic } from "../../support/faults/traffic.ts";
import { verifyDeliveries } from "../../support/faults/delivery-checks.ts";
import { readinessStatus } from "../../support/faults/change-load.ts";
import { eventually } from "../../support/eventually.ts";
import { openFaultFixture } from "../../support/faults/webhook.fixture.ts";

vi.setConfig({ testTimeout: 120_000 });

const PRLIMIT = "/usr/bin/prlimit";
const canLimit = process.platform === "linux" && existsSync(PRLIMIT);
/** File descriptors that the process may open in addition to those already open. */
const SPARE = 8;

// Other systems cannot lower the limit of a running process.
// evidence: file-descriptors-exhausted
it.skipIf(!canLimit)(
  "serves open connections while idle connections use all file descriptors, then recovers",
  async () => {
    const fixture = await openFaultFixture();
    const numbers = await fixture.addJobs(5);
    const server = await fixture.startServer("all");
    const traffic = await startFaultTraffic(fixture, server, numbers);
    await traffic.waitForSuccesses();

    await limitFiles(server.pid, (await openFiles(server.pid)) + SPARE);
    const crowd = openIdleConnections(server.url, 10 * SPARE);
    await eventually(() => expect(crowd.closedCount()).toBeGreaterThan(SPARE));
    await traffic.waitForSuccesses();
    // Connecting to a receiver also needs a descriptor; the failure is recorded as internal, not as the receiver's.
    const endpoint = await fixture.addEndpoint({ owner: fixture.contractor });
    await fixture.addJobs(1, "assigned");
    fixture.notifyWorkers();
    await eventually(async () => expect(await outcomesOfDeliveries()).toContain("internal_error"));

    crowd.close();
    await traffic.waitForSuccesses();
    await traffic.stopAndVerify();
    await verifyDeliveries(fixture, { duplicates: 0 });
    expect(endpoint.received().length).toBeGreaterThan(0);
    const failedAttempts = sql`select outcome from webhook_attempt where outcome <> 'delivered'`;
    expect(await fixture.database.query(failedAttempts)).toEqual([]);
    expect(await readinessStatus(server)).toBe(200);

    async function outcomesOfDeliveries(): Promise<(string | null)[]> {
      const rows = await fixture.database.query<{ outcome: string | null }>(
        sql`select outcome from webhook_delivery`,
      );
      return rows.map(({ outcome }) => outcome);
    }
  },
);

async function openFiles(pid: number): Promise<number> {
  return (await readdir(`/proc/${pid}/fd`)).length;
}

async function limitFiles(pid: number, count: number): Promise<void> {
  await promisify(execFile)(PRLIMIT, ["--pid", String(pid), `--nofile=${count}:`]);
}

/** Opens `count` connections that send nothing, and reopens each one that is closed. */
function openIdleConnections(url: string, count: number) {
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  let [closedCount, isClosing] = [0, false];
  const open = (): void => {
    const socket = connect(Number(port), hostname);
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => {
      sockets.delete(socket);
      closedCount += 1;
      if (!isClosing) setTimeout(open, 20);
    });
  };
  for (let index = 0; index < count; index += 1) open();
  const close = (): void => {
    isClosing = true;
    for (const socket of sockets) socket.destroy();
  };
  onTestFinished(close);
  return { closedCount: () => closedCount, close };
}
