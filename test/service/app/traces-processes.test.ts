/** Traces across an API process and a worker process that are configured by environment variables. */
import { expect, it, vi } from "vitest";
import { sql } from "../../../src/core/postgres/sql.ts";
import { startServerProcess } from "../../support/processes/server-process.ts";
import { startTestApp } from "../../support/app/app.fixture.ts";
import { spanPath, startTraceCollector, type CollectedSpan } from "../../support/trace-collector.ts";
import { startTestReceiver } from "../../support/webhooks/receiver.ts";

vi.setConfig({ testTimeout: 90_000 });

const isAttempt = ({ name }: CollectedSpan): boolean => name === "POST";

it("traces a change and its delivery as one trace across two processes, and exports it before they stop", async () => {
  await using collector = await startTraceCollector();
  await using receiver = await startTestReceiver();
  // This process has no collector.
  await using app = await startTestApp({ WAYMARK_ROLE: "api", WEBHOOK_ALLOW_PRIVATE: "on" });
  const settings = {
    DATABASE_URL: app.databaseUrl,
    WEBHOOK_ALLOW_PRIVATE: "on",
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: "x-collector-key=hush%2Dhush",
    OTEL_SERVICE_NAME: "waymark-test",
  };
  const [api, worker] = await Promise.all(
    ["api", "worker"].map((role) => startServerProcess({ ...settings, WAYMARK_ROLE: role })),
  );
  await Promise.all([api?.waitUntilReady(), worker?.waitUntilReady()]);
  const agent = await app.createOrganization("agent");
  await app.webhooks.endpoints.create(
    { organizationId: agent.id, actor: { type: "system", id: null } },
    { url: receiver.url },
  );
  const [number = ""] = await app.createJobs(agent, [{}]);
  const patch = async (url: string | undefined, weight: number): Promise<string> => {
    const response = await fetch(`${url}/v1/jobs/by-marking/${number}`, {
      method: "PATCH",
      headers: { "x-api-key": agent.key, "content-type": "application/json" },
      body: JSON.stringify({ weight }),
    });
    expect(response.status).toBe(200);
    return response.headers.get("x-request-id") ?? "";
  };
  const untraced = await patch(app.url, 1);
  const requestId = await patch(api?.url, 2);
  await receiver.waitFor(3);
  // Stopping exports the spans still queued.
  expect(await Promise.all([api?.kill("SIGTERM"), worker?.kill("SIGTERM")])).toEqual([0, 0]);

  const spans = await collector.waitForTrace(requestId, isAttempt);
  const path = spanPath(spans.find(isAttempt) as CollectedSpan, spans);
  expect(path.map(({ name, resource }) => [name.split(" ", 1)[0], resource["waymark.role"]])).toEqual([
    ["PATCH", "api"],
    ["publish", "api"],
    ["deliver", "worker"],
    ["POST", "worker"],
  ]);
  expect(path[0]?.resource).toMatchObject({ "service.name": "waymark-test" });
  for (const { path: posted, headers } of collector.posts) {
    expect(posted).toBe("/v1/traces");
    expect(headers["x-collector-key"]).toBe("hush-hush");
  }
  expect(`${api?.output()}${worker?.output()}`).not.toContain("hush-hush");

  expect(collector.spans().some(({ attributes }) => attributes["waymark.request.id"] === untraced)).toBe(
    false,
  );
  expect(collector.spans().filter(isAttempt)).toHaveLength(1);
  const events = await app.database.query(
    sql`select request_id from job_event where trace_parent is not null`,
  );
  expect(events).toEqual([{ request_id: requestId }]);
});
