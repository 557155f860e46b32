import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, describe, expect, it } from "vitest";
import { createLogger } from "../../src/core/logger.ts";
import { freePort } from "../support/free-port.ts";
import { startAppInstance, type AppInstance } from "../support/app/app-instance.ts";
import { expectData } from "../support/app/assertions.ts";
import { jobPath, listJobs, patchBatch, patchJob } from "../support/app/job-client.ts";
import { lockJobRow } from "../support/database/blocked-sessions.ts";
import { startTestApp } from "../support/app/app.fixture.ts";
import { createTestMongo } from "../support/database/test-mongo.ts";
import { eventually } from "../support/eventually.ts";

type Line = Record<string, unknown>;

const lines: Line[] = [];
let written = "";
const stream = {
  write(line: string): void {
    written += line;
    lines.push(JSON.parse(line) as Line);
  },
};
const app = await startTestApp({}, { logger: createLogger("info", stream) });
const agent = await app.createOrganization("agent");
afterAll(() => app[Symbol.asyncDispose]());

it("serves /metrics only on METRICS_PORT if that is set", async () => {
  const port = await freePort();
  await using own = await startAppInstance(app.databaseUrl, {
    WAYMARK_ROLE: "api",
    METRICS_PORT: String(port),
  });
  const metrics = `http://127.0.0.1:${port}`;
  const response = await fetch(`${metrics}/metrics`);
  expect(response.status).toBe(200);
  expect(await response.text()).toContain("waymark_http_requests_in_flight");
  expect((await own.request("/metrics")).status).toBe(404);
  expect((await own.request("/health/live")).status).toBe(200);
  for (const path of ["/", "/v1/jobs", "/health/live"])
    expect((await fetch(metrics + path)).status).toBe(404);
  expect((await fetch(`${metrics}/metrics`, { method: "POST" })).status).toBe(405);
});

/** The log line of a request, written after the response. */
function lineOf(requestId: string): Promise<Line> {
  return eventually(() => {
    const requestLines = lines.filter((line) => line["request_id"] === requestId);
    expect(requestLines).toHaveLength(1);
    return requestLines[0] as Line;
  });
}

async function metric(name: string, labels: string): Promise<number> {
  const text = (await app.request("/metrics")).text;
  const line = text.split("\n").find((one) => one.startsWith(`${name}{${labels}}`));
  return Number(line?.split(" ").at(-1) ?? 0);
}

const NOWHERE = "mongodb://127.0.0.1:1/waymark";

const startWorker = (url: string) =>
  startAppInstance(app.databaseUrl, { WAYMARK_ROLE: "worker", MONGODB_URL: url });

/** Readiness once the state of MongoDB is known. */
async function expectReadiness(instance: AppInstance, status: 200 | 503, mongodb: object): Promise<void> {
  await eventually(async () => {
    const response = await instance.request("/health/ready");
    expect({ status: response.status, body: response.body }).toMatchObject({
      status,
      body: {
        status: status === 200 ? "ready" : "not_ready",
        dependencies: { postgres: { status: "up" }, mongodb },
      },
    });
  });
}

describe("GET /health", () => {
  it.each([
    ["up", () => createTestMongo().url, { status: "up" }],
    ["down", () => NOWHERE, { status: "down", message: "unreachable" }],
    ["not configured", () => "", { status: "down", message: "no MongoDB is configured" }],
  ])("ready returns 200 and reports MongoDB: %s", async (_state, urlOf, mongodb) => {
    const url = urlOf();
    await using instance = await startAppInstance(app.databaseUrl, url === "" ? {} : { MONGODB_URL: url });
    await expectReadiness(instance, 200, mongodb);
    expectData(await listJobs(instance, agent));
  });

  it("ready returns 503 for a worker until MongoDB is up", async () => {
    await using mongo = createTestMongo();
    await using away = await startWorker(NOWHERE);
    await expectReadiness(away, 503, { status: "down", message: "unreachable" });
    await using worker = await startWorker(mongo.url);
    await expectReadiness(worker, 200, { status: "up" });
  });
});

describe("GET /metrics", () => {
  it("returns metrics of the process, the database pool and requests in flight in Prometheus format", async () => {
    // The request before this one may not have ended yet.
    const response = await eventually(async () => {
      const scraped = await app.request("/metrics");
      expect(scraped.text).toContain("waymark_http_requests_in_flight 1\n");
      return scraped;
    });
    expect(response.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
    const text = response.text;
    for (const name of ["process_cpu_seconds_total", 'waymark_db_pool_connections{state="waiting"}']) {
      expect(text).toContain(name);
    }
  });

  // evidence: metrics-labels-no-client-data
  it("counts requests by method, route pattern and status, without the requested path", async () => {
    const [number = ""] = await app.createJobs(agent, [{}]);
    const labels = 'method="PATCH",route="/v1/jobs/by-marking/{markingNumber}",status="200"';
    const before = await metric("waymark_http_request_duration_seconds_count", labels);
    expectData(await patchJob(app, agent, number, { weight: 1 }));
    await eventually(async () =>
      expect(await metric("waymark_http_request_duration_seconds_count", labels)).toBe(before + 1),
    );
    await app.call("/v1/made-up-path", {});
    const text = (await app.request("/metrics")).text;
    expect(text).not.toContain(number);
    expect(text).not.toContain("made-up-path");
    expect(text).toContain('route="unknown",status="404"');
  });
});

describe("the log", () => {
  // evidence: request-log-line-fields
  it("has one line per request: ID, organisation, key, method, route, status and duration", async () => {
    const { body } = await listJobs(app, agent, "q=x");
    expect(await lineOf(body.request_id)).toEqual({
      level: "info",
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      request_id: body.request_id,
      method: "GET",
      route: "/v1/jobs",
      status: 200,
      duration_ms: expect.any(Number),
      organization: expect.stringMatching(/^org_/),
      key: expect.stringMatching(/^key_/),
    });
  });

  // evidence: request-log-rejected-requests
  it("has a line for a rejected request, without an organisation if it is unknown", async () => {
    for (const [path, key, status, route] of [
      ["/v1/jobs", undefined, 401, "/v1/jobs"],
      ["/v1/jobs?page=0", agent.key, 400, "/v1/jobs"],
      ["/v1/none", agent.key, 404, "unknown"],
      [jobPath("NONE"), agent.key, 404, "/v1/jobs/by-marking/{markingNumber}"],
    ] as const) {
      const { body } = await app.call(path, key ? { key } : {});
      const line = await lineOf(body.request_id);
      expect(line).toMatchObject({ status, route });
      expect("organization" in line).toBe(key !== undefined && route !== "unknown");
    }
  });

  // evidence: request-log-no-secrets
  it("never contains secrets or personal data", async () => {
    const secret = "Noor Hassan";
    const [number = ""] = await app.createJobs(agent, [
      { markingNumber: "MN-SECRET-7", patch: { recipient_name: secret } },
    ]);
    const responses = [
      await listJobs(app, agent, `q=${encodeURIComponent(secret)}`),
      await patchJob(app, agent, number, {
        recipient_name: `${secret} II`,
        recipient_contact: "+65 5550 0134",
      }),
      await patchJob(app, agent, number, { weight: secret, normalized_status: secret }),
      await patchBatch(app, agent, [
        { marking_number: number, delivery_address: `${secret}, 12 Harbour Street` },
      ]),
      await patchJob(app, { ...agent, headers: { "idempotency-key": "idem-secret" } }, number, {
        labels: "x",
      }),
      await app.call("/v1/jobs", { headers: { authorization: "Bearer made-up-secret" } }),
    ];
    await Promise.all(responses.map((response) => lineOf(response.body.request_id)));
    for (const forbidden of [
      secret,
      "Noor",
      "5550",
      "Harbour",
      number,
      agent.key,
      agent.key.slice(13),
      "made-up-secret",
      "idem-secret",
      agent.name,
    ]) {
      expect(written).not.toContain(forbidden);
    }
  });
});

it("a client that disconnects before the response is logged with 499, and its change is applied", async () => {
  const route = "/v1/jobs/by-marking/{markingNumber}";
  const [number = ""] = await app.createJobs(agent, [{}]);
  const lock = await lockJobRow(app.database, number);
  const request = app.request(jobPath(number), { method: "PATCH", key: agent.key, body: '{"weight":5}' });
  // Sends the request, which never gets a response.
  request.end(() => undefined);
  await lock.waitForBlockedSessions();
  request.abort();
  await lock.release();
  await eventually(() => expect(lines).toContainEqual(expect.objectContaining({ route, status: 499 })));
  await eventually(async () =>
    expect((await app.call(jobPath(number), { key: agent.key })).body.data.weight).toBe(5),
  );
});

it("a client that disconnects while sending its body is logged with 499 and no error", async () => {
  const { hostname, port } = new URL(app.url);
  const before = lines.length;
  const socket = connect(Number(port), hostname);
  const head = `PATCH /v1/jobs/batch HTTP/1.1\r\nHost: localhost\r\nx-api-key: ${agent.key}\r\nContent-Type: application/json\r\n`;
  socket.write(`${head}Content-Length: 100\r\nExpect: 100-continue\r\n\r\n`);
  await once(socket, "data");
  socket.write("{");
  socket.destroy();
  await eventually(() => {
    const line = lines.slice(before).find((one) => one["route"] === "/v1/jobs/batch");
    expect(line).toMatchObject({ level: "info", status: 499 });
  });
  expect(lines.filter((line) => line["level"] === "error")).toEqual([]);
});

it("stopping answers accepted requests and accepts no new ones", async () => {
  const [number = ""] = await app.createJobs(agent, [{}]);
  const instance = await startAppInstance(app.databaseUrl);
  const lock = await lockJobRow(app.database, number);
  const accepted = patchJob(instance, agent, number, { weight: 3 });
  await lock.waitForBlockedSessions();
  const stopped = instance[Symbol.asyncDispose]();
  // Connections that had arrived before the stop are still answered.
  await eventually(() =>
    expect(fetch(`${instance.url}/health/live`, { headers: { connection: "close" } })).rejects.toThrow(
      "fetch failed",
    ),
  );
  await lock.release();
  expect(expectData(await accepted).weight).toBe(3);
  await stopped;
});
