/** Traces of what no request begins: a mail, a task of the scheduler, an event that a subscription is told. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import type { Tracing } from "../../../src/platform/tracing/tracing.ts";
import { taskHandler } from "../../../src/scheduling/task.ts";
import { waitUntilFeedIsComplete } from "../../support/app/feed-client.ts";
import { subscribeAndWait } from "../../support/graphql/subscription-client.ts";
import { patchJob } from "../../support/app/job-client.ts";
import { startTestSmtpServer } from "../../support/smtp-server.ts";
import { LINK_TOKEN, newMailTo, openMailFixture } from "../../support/mail.fixture.ts";
import { eventually, openSchedulerFixture } from "../../support/scheduler.fixture.ts";
import { onceTask } from "../../support/scheduler-tasks.ts";
import { startTestApp } from "../../support/app/app.fixture.ts";
import {
  startTraceCollector,
  openTracingTo,
  type CollectedSpan,
  type TraceCollector,
} from "../../support/trace-collector.ts";

let collector: TraceCollector;
let tracing: Tracing;

beforeAll(async () => {
  collector = await startTraceCollector();
});
afterAll(() => collector[Symbol.asyncDispose]());
beforeEach(() => {
  collector.posts.length = 0;
  tracing = openTracingTo(collector, "here");
});
afterEach(() => tracing[Symbol.asyncDispose]());

/** The span of this name, which begins a trace, once it has come. */
function first(name: string): Promise<CollectedSpan> {
  return eventually(() => {
    const found = collector.spans().find((span) => span.name === name && span.parentId === null);
    if (!found) throw new Error(`Not among ${JSON.stringify(collector.spans().map((span) => span.name))}`);
    return found;
  });
}

it("a mail is a trace, which tells neither to whom it went nor what it said", async () => {
  await using server = await startTestSmtpServer();
  await using rig = await openMailFixture();
  await using worker = rig.startWorker(`smtp://localhost:${server.port}`, { tracing });
  const to = "agent@waymark.example";
  await rig.database.transaction((tx) => rig.mails.enqueue(tx, newMailTo(to)));
  await worker.sweep();
  const { attributes, isFailed } = await first("send mail");
  expect(isFailed).toBe(false);
  expect(attributes).toMatchObject({ "waymark.mail.kind": "registration", "waymark.attempt.number": 1 });
  const told = collector.posts.map(({ body }) => body).join("\n");
  for (const secret of [to, LINK_TOKEN, "Welcome"]) expect(told).not.toContain(secret);
});

it("a mail that the server does not take is a trace that failed", async () => {
  await using rig = await openMailFixture();
  await using worker = rig.startWorker("smtp://127.0.0.1:1", { tracing });
  await rig.database.transaction((tx) => rig.mails.enqueue(tx, newMailTo("agent@waymark.example")));
  await worker.sweep();
  expect(await first("send mail")).toMatchObject({ isFailed: true });
});

it.each([
  ["that is done", () => undefined, false],
  [
    "that fails",
    () => {
      throw new Error("it does not work");
    },
    true,
  ],
])("a task of the scheduler %s is a trace, by its name", async (_, work, isFailed) => {
  const { scheduler } = openSchedulerFixture().addScheduler({ tracing });
  scheduler.start([taskHandler(onceTask, work)]);
  scheduler.schedule(onceTask, { n: 1 }, new Date());
  expect(await first(`task ${onceTask.name}`)).toMatchObject({ kind: 1, isFailed });
});

it("each event that a subscription is told is a trace, with its SQL below", async () => {
  await using app = await startTestApp({}, { tracing });
  const agent = await app.createOrganization("agent");
  const [number = ""] = await app.createJobs(agent, [{}]);
  await waitUntilFeedIsComplete(app.database);
  const { events } = await subscribeAndWait(app, agent.key);
  await patchJob(app, agent, number, { weight: 2 });
  await eventually(() => expect(events).toHaveLength(1));
  const told = await first("GraphQL subscription");
  await eventually(() => {
    const below = collector.spans().filter(({ parentId }) => parentId === told.spanId);
    expect(below.map(({ name }) => name)).toContainEqual(expect.stringContaining("SELECT job"));
  });
});
