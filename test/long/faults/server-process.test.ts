/** The server as a process: start, stop, kill and restart. */
import { createServer } from "node:net";
import { afterEach, expect, inject, it, onTestFinished, vi } from "vitest";
import { freePort } from "../../support/free-port.ts";
import { makeFolder, query, stopAndRemoveAll } from "../../support/processes/embedded-processes.ts";
import { startServerProcess, type ServerProcess } from "../../support/processes/server-process.ts";
import { createTestDatabase } from "../../support/database/test-database.ts";
import { eventually } from "../../support/eventually.ts";

vi.setConfig({ testTimeout: 90_000 });
afterEach(stopAndRemoveAll);

const demoKeyIn = (output: string): string => {
  const [, key = ""] = /Demo agent key +(\S+)/.exec(output) ?? [];
  expect(key).toMatch(/^wmk_/);
  return key;
};

it("starts on embedded databases without settings, creates the demo and prints working keys", async () => {
  const dataDir = await makeFolder();
  await using server = await startServerProcess({ WAYMARK_DATA_DIR: dataDir, LOG_LEVEL: "info" });
  await server.waitUntilReady();
  const key = demoKeyIn(server.output());
  const response = await fetch(`${server.url}/v1/jobs`, { headers: { "x-api-key": key } });
  const { data } = (await response.json()) as { data: { pagination: { total: number } } };
  expect(response.status).toBe(200);
  expect(data.pagination.total).toBeGreaterThan(900);
  expect(server.output()).toContain(`Tasks      MongoDB in ${dataDir}`);
  await eventually(async () => {
    const health = await (await fetch(`${server.url}/health/ready`)).json();
    expect(health).toMatchObject({ dependencies: { mongodb: { status: "up" } } });
  });
});

it("fails with a message if its port is in use", async () => {
  await using database = await createTestDatabase();
  const port = await freePort();
  const other = createServer().listen(port, "127.0.0.1");
  onTestFinished(() => void other.close());
  const server = await startServerProcess({ PORT: String(port), DATABASE_URL: database.url });
  expect(await server.exited).toBe(1);
  expect(server.output()).toContain(`Port ${port} on 127.0.0.1 is already in use`);
});

// evidence: mongo-missing-at-start
it("without MongoDB, serves requests, and logs what is missing and how to fix it", async () => {
  await using database = await createTestDatabase();
  const dataDir = await makeFolder();
  await using server = await startServerProcess({
    DATABASE_URL: database.url,
    MONGODB_URL: "",
    MONGOD_BINARY: "",
    MONGOD_DOWNLOAD: "off",
    WAYMARK_DATA_DIR: dataDir,
    XDG_CACHE_HOME: dataDir,
    PATH: dataDir,
  });
  await server.waitUntilReady();
  await eventually(() => expect(server.output()).toContain("continues without MongoDB"));
  expect(server.output()).toContain("No mongod was found on this computer");
  expect(server.output()).toContain("MONGODB_URL");
  expect(server.output()).not.toContain("    at ");
  const health = (await (await fetch(`${server.url}/health/ready`)).json()) as Record<string, unknown>;
  expect(health).toMatchObject({
    status: "ready",
    dependencies: { mongodb: { status: "down", message: "could not be started" } },
  });
  expect((await fetch(`${server.url}/v1/jobs`)).status).toBe(401);
  expect(await server.kill("SIGTERM")).toBe(0);
});

it("fails if the database does not exist, and does not create it", async () => {
  const url = new URL(inject("serverUrl"));
  url.pathname = "/no_such_database";
  const server = await startServerProcess({ DATABASE_URL: url.href });
  expect(await server.exited).toBe(1);
  expect(server.output()).toContain("no_such_database");
  expect(server.output()).not.toContain("    at ");
});

it("fails without a stack trace or the password if PostgreSQL is unreachable", async () => {
  const server = await startServerProcess({
    DATABASE_URL: "postgresql://waymark:hunter2secret@127.0.0.1:1/waymark",
  });
  expect(await server.exited).toBe(1);
  expect(server.output()).toContain("DATABASE_URL");
  expect(server.output()).not.toContain("    at ");
  expect(server.output()).not.toContain("hunter2secret");
});

it("migrates an empty database once if four processes start at the same time", async () => {
  await using database = await createTestDatabase("template0");
  const env = {
    DATABASE_URL: database.url,
    WAYMARK_DEMO: "on",
    WAYMARK_DATA_DIR: await makeFolder(),
    DATABASE_POOL_SIZE: "3",
  };

  const servers = await Promise.all(Array.from({ length: 4 }, () => startServerProcess(env)));
  await Promise.all(servers.map((server) => server.waitUntilReady()));
  const rows = await query(
    database.url,
    "select (select count(*) from organization where live_organization_id is null)::int as organizations, (select count(*) from job)::int as jobs",
  );
  expect(rows).toEqual([{ organizations: 5, jobs: 2000 }]);
  expect(await Promise.all(servers.map((server) => server.kill("SIGTERM")))).toEqual([0, 0, 0, 0]);
});

// evidence: sigterm-accepted-requests-answered
it("responds to every request accepted before SIGTERM, and exits with 0", async () => {
  await using database = await createTestDatabase();
  const server = await startServerProcess({
    DATABASE_URL: database.url,
    WAYMARK_DEMO: "on",
    WAYMARK_DATA_DIR: await makeFolder(),
    RATE_LIMITS: "off",
  });
  await server.waitUntilReady();
  const key = demoKeyIn(server.output());
  const { statuses, failures } = await loadUntilRefused(server, key);
  expect(await server.exited).toBe(0);
  expect(failures).toEqual([]);
  expect(new Set(statuses)).toEqual(new Set([200]));
  expect(statuses.length).toBeGreaterThan(200);
});

/**
 * Sends requests from eight callers on keep-alive connections, and SIGTERM in the middle. A caller stops when a new
 * connection is refused; any other error is recorded as a failure.
 */
async function loadUntilRefused(
  server: ServerProcess,
  key: string,
): Promise<{ statuses: number[]; failures: string[] }> {
  const statuses: number[] = [];
  const failures: string[] = [];
  const caller = async (): Promise<void> => {
    for (;;) {
      try {
        const response = await fetch(`${server.url}/v1/jobs?page_size=20`, { headers: { "x-api-key": key } });
        await response.arrayBuffer();
        statuses.push(response.status);
        if (statuses.length === 200) void server.kill("SIGTERM");
      } catch (error) {
        const { cause } = error as { cause?: { code?: string } };
        if (cause?.code !== "ECONNREFUSED") failures.push(`${String(error)}: ${cause?.code ?? "no code"}`);
        return;
      }
    }
  };
  await Promise.all(Array.from({ length: 8 }, caller));
  return { statuses, failures };
}
