/** Traces from a request to the attempts of its deliveries. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createLogger } from "../../../src/core/logger.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { traceFields, type Tracing } from "../../../src/core/tracing/tracing.ts";
import {
  startTraceCollector,
  spanPath,
  openTracingTo,
  type CollectedSpan,
  type TraceCollector,
} from "../../support/trace-collector.ts";
import {
  createSessionClient,
  createTestUser,
  VALID_PASSWORD,
} from "../../support/accounts/session-client.ts";
import { patchBatch, patchJob, type JobRequestOptions } from "../../support/app/job-client.ts";
import { startTestReceiver, type TestReceiver } from "../../support/webhooks/receiver.ts";
import {
  startDispatcherFixture,
  type RunningDispatcher,
  type DispatcherFixture,
} from "../../support/webhooks/dispatcher.fixture.ts";

let collector: TraceCollector;
let receiver: TestReceiver;
let rig: DispatcherFixture;
let dispatcher: RunningDispatcher;
let tracing: Tracing;
let endpointId: string;
const log: string[] = [];

const ROUTE = "/v1/jobs/by-marking/{markingNumber}";
const RECIPIENT = "Berit Solheim";
const PATH_SECRET = "hush-hush";

const isEvent = ({ name }: CollectedSpan): boolean => name === "publish job_event";
const isDelivery = ({ name }: CollectedSpan): boolean => name === "deliver webhook_delivery";
const isAttempt = ({ name }: CollectedSpan): boolean => name === "POST";
const isRoot = ({ parentId }: CollectedSpan): boolean => parentId === null;

beforeAll(async () => {
  collector = await startTraceCollector();
  receiver = await startTestReceiver();
  const logger = createLogger("info", { write: (line) => void log.push(line) }, () => traceFields());
  tracing = openTracingTo(collector, { logger });
  rig = await startDispatcherFixture({ tracing, logger });
  dispatcher = await rig.startDispatcher();
  endpointId = await rig.createEndpoint({ url: `${receiver.url}/${PATH_SECRET}` });
  await rig.app.createJobs(rig.agent, [{}]);
});
afterAll(async () => {
  await rig[Symbol.asyncDispose]();
  await tracing[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
  await collector[Symbol.asyncDispose]();
});
beforeEach(async () => {
  receiver.respond = () => ({});
  // Deliveries of earlier tests would be sent first.
  dispatcher.wake();
  await rig.waitForStatus(endpointId, "delivered");
  collector.posts.length = log.length = 0;
});

/** Creates a job, changes it, and returns the id of the changing request. */
async function changeJob(options: JobRequestOptions = {}) {
  const [number = ""] = await rig.app.createJobs(rig.agent, [{}]);
  const { body } = await patchJob(rig.app, { ...rig.agent, ...options }, number, {
    recipient_name: RECIPIENT,
  });
  return { number, requestId: body.request_id };
}

describe("the trace of a change", () => {
  it("contains request, event, delivery and attempt, each a child of the one before, and the SQL of the request, without values", async () => {
    const { number, requestId } = await changeJob();
    dispatcher.wake();
    const spans = await collector.waitForTrace(requestId, isAttempt);
    const path = spanPath(spans.find(isAttempt) as CollectedSpan, spans);
    expect(path.map(({ name, kind }) => [name, kind])).toEqual([
      [`PATCH ${ROUTE}`, 2],
      ["publish job_event", 4],
      ["deliver webhook_delivery", 5],
      ["POST", 3],
    ]);
    expect(path[0]).toMatchObject({ parentId: null, links: [], isFailed: false });
    expect(path[0]?.attributes).toMatchObject({
      "http.request.method": "PATCH",
      "http.route": ROUTE,
      "http.response.status_code": 200,
      "waymark.request.id": requestId,
    });
    const statement = spans.find(({ name }) => name === "UPDATE job");
    expect(statement).toMatchObject({ kind: 3, parentId: path[0]?.spanId });
    expect(statement?.attributes).toMatchObject({
      "db.system.name": "postgresql",
      "db.operation.name": "UPDATE",
      "db.collection.name": "job",
      "db.query.text": expect.stringContaining("jsonb_to_recordset($1::jsonb)"),
    });
    expect(path[1]?.attributes["messaging.batch.message_count"]).toBe(1);
    expect(path[2]?.attributes).toMatchObject({
      "messaging.message.id": expect.stringMatching(/^evt_/),
      "waymark.attempt.number": 1,
    });
    expect(path[3]?.attributes).toMatchObject({
      "server.address": "127.0.0.1",
      "server.port": receiver.port,
      "http.response.status_code": 200,
    });
    const exported = collector.posts.map(({ body }) => body).join("\n");
    expect(exported).toContain("recipient_name");
    for (const secret of [RECIPIENT, number, rig.agent.key, PATH_SECRET, rig.agent.name])
      expect(exported).not.toContain(secret);
  });

  it("continues with retries, and marks failed attempts", async () => {
    receiver.respond = () => ({ status: 503 });
    const { requestId } = await changeJob();
    dispatcher.wake();
    await collector.waitForTrace(requestId, isAttempt);
    receiver.respond = () => ({});
    await rig.makeDue();
    await rig.sweep(dispatcher);
    const spans = await collector.waitForTrace(requestId, (span) => isDelivery(span) && !span.isFailed);
    const deliveries = spans.filter(isDelivery);
    expect(deliveries.map(({ attributes }) => attributes["waymark.attempt.number"])).toEqual([1, 2]);
    expect(deliveries.map(({ attributes }) => attributes["error.type"])).toEqual(["http_503", undefined]);
    expect(spans.filter(isAttempt).map(({ isFailed }) => isFailed)).toEqual([true, false]);
    expect(new Set(deliveries.map(({ parentId }) => parentId)).size).toBe(1);
  });

  it.each([
    ["a dry run", { weight: 3 }, "dry_run=true"],
    ["a request that changes nothing", { weight: 2 }, ""],
  ])("has no event span for %s", async (_, body, query) => {
    const [number = ""] = await rig.app.createJobs(rig.agent, [{ patch: { weight: 2 } }]);
    const response = await patchJob(rig.app, { ...rig.agent, query }, number, body);
    const spans = await collector.waitForTrace(response.body.request_id);
    expect(spans.some(({ name }) => name.startsWith("UPDATE job"))).toBe(true);
    expect(spans.some(isEvent)).toBe(false);
  });

  it("has one event span for all changes of a batch statement", async () => {
    const numbers = await rig.app.createJobs(rig.agent, [{}, {}, {}]);
    const jobs = numbers.map((marking_number) => ({ marking_number, weight: 9 }));
    const { body } = await patchBatch(rig.app, rig.agent, jobs);
    const [event, ...others] = (await collector.waitForTrace(body.request_id)).filter(isEvent);
    expect(others).toEqual([]);
    expect(event?.attributes["messaging.batch.message_count"]).toBe(3);
  });
});

describe("a client's traceparent", () => {
  const caller = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" };

  it("becomes a link of a new trace", async () => {
    const traceparent = `00-${caller.traceId}-${caller.spanId}-01`;
    const { requestId } = await changeJob({ headers: { traceparent } });
    const [request, ...others] = (await collector.waitForTrace(requestId)).filter(isRoot);
    expect(others).toEqual([]);
    expect(request?.links).toEqual([caller]);
    expect(collector.spans().some(({ traceId }) => traceId === caller.traceId)).toBe(false);
  });
});

it("adds the trace to each log line, and stores it with the event for its deliveries", async () => {
  const { requestId } = await changeJob();
  const { traceId, spanId } = (await collector.waitForTrace(requestId)).find(isRoot) as CollectedSpan;
  const line = log
    .map((text) => JSON.parse(text) as Record<string, unknown>)
    .find((entry) => entry["request_id"] === requestId);
  expect(line).toMatchObject({ trace_id: traceId, span_id: spanId });
  const [event] = await rig.app.database.query<{ trace_parent: string }>(
    sql`select trace_parent from job_event where request_id = ${requestId}`,
  );
  expect(event?.trace_parent).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`));
});

it("traces a GraphQL operation with its SQL, under a span name without the operation's name", async () => {
  const query = `query ${"Long".repeat(100)} { jobs(first: 1) { nodes { markingNumber } } }`;
  const answer = await rig.app.request("/graphql", {
    method: "POST",
    key: rig.agent.key,
    body: JSON.stringify({ query }),
  });
  expect(answer.status).toBe(200);
  const spans = await collector.waitForTrace(answer.get("x-request-id") ?? "");
  const read = spans.find(({ name }) => name.startsWith("SELECT job")) as CollectedSpan;
  const path = spanPath(read, spans);
  expect(path.map(({ name }) => name).slice(0, 2)).toEqual(["POST /graphql", "GraphQL query"]);
  expect(path[1]?.attributes["graphql.operation.name"]).toBe("Long".repeat(25));
});

it("traces a sign-in with its SQL, without the spans of better-auth", async () => {
  const { email } = await createTestUser(rig.app, { organizationId: rig.agent.id, role: "owner" });
  const credentials = { email, password: VALID_PASSWORD };
  const { status, headers } = await createSessionClient(rig.app).post("/auth/sign-in/email", credentials);
  expect(status).toBe(200);
  const spans = await collector.waitForTrace(headers.get("x-request-id") ?? "");
  const children = spans.filter((span) => !isRoot(span));
  expect(children.map(({ attributes }) => attributes["db.system.name"])).toEqual(
    children.map(() => "postgresql"),
  );
});

it("does not trace health checks and metrics", async () => {
  for (const path of ["/health/live", "/health/ready", "/metrics"]) await rig.app.request(path);
  const { requestId } = await changeJob();
  await collector.waitForTrace(requestId);
  const names = collector.spans().map(({ name }) => name);
  expect(names.filter((name) => /health|metrics|HTTP/.test(name))).toEqual([]);
});

const metricsText = async (): Promise<string> => (await rig.app.request("/metrics")).text;

it("counts exported and dropped spans in the metrics", async () => {
  collector.status = 400;
  try {
    await changeJob();
    await expect.poll(metricsText).toMatch(/waymark_trace_spans_total\{outcome="dropped"\} [1-9]/);
  } finally {
    collector.status = 200;
  }
  const warnings = log.filter((line) => line.includes("spans were dropped"));
  expect(warnings.map((line) => JSON.parse(line) as object)).toMatchObject([
    { level: "warn", reason: "400" },
  ]);
  await changeJob();
  await expect.poll(metricsText).toMatch(/waymark_trace_spans_total\{outcome="exported"\} [1-9]/);
});
