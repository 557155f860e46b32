/** Traces of work outside HTTP requests: mails, scheduled tasks and subscription events. */
import { startTrace, withSpan, type Tracing } from "../../../src/core/tracing/tracing.ts";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { taskHandler } from "../../../src/scheduling/task.ts";
import { waitUntilFeedIsComplete } from "../../support/app/feed-client.ts";
import { subscribeAndWait } from "../../support/graphql/subscription-client.ts";
import { patchJob } from "../../support/app/job-client.ts";
import { startTestSmtpServer } from "../../support/smtp-server.ts";
import { LINK_TOKEN, newMailTo, openMailFixture } from "../../support/mail.fixture.ts";
import { eventually } from "../../support/eventually.ts";
import { openSchedulerFixture } from "../../support/scheduler.fixture.ts";
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
  tracing = openTracingTo(collector);
});
afterEach(() => tracing[Symbol.asyncDispose]());

/** Waits for the root span with this name. */
function first(name: string): Promise<CollectedSpan> {
  return eventually(() => {
    const root = collector.spans().find((span) => span.name === name && span.parentId === null);
    if (!root) throw new Error(`Not among ${JSON.stringify(collector.spans().map((span) => span.name))}`);
    return root;
  });
}

it("traces a mail without its recipient and content", async () => {
  await using server = await startTestSmtpServer();
  await using rig = await openMailFixture();
  await using worker = rig.startWorker(`smtp://localhost:${server.port}`);
  const to = "agent@waymark.example";
  await rig.database.transaction((tx) => rig.mails.enqueue(tx, newMailTo(to)));
  await worker.sweep();
  const { attributes, isFailed } = await first("send mail");
  expect(isFailed).toBe(false);
  expect(attributes).toMatchObject({ "waymark.mail.kind": "registration", "waymark.attempt.number": 1 });
  const exported = collector.posts.map(({ body }) => body).join("\n");
  for (const secret of [to, LINK_TOKEN, "Welcome"]) expect(exported).not.toContain(secret);
});

it.each([
  ["successful", () => undefined, false],
  [
    "failing",
    () => {
      throw new Error("it does not work");
    },
    true,
  ],
])("traces a %s scheduled task by its name", async (_, work, isFailed) => {
  const { scheduler } = openSchedulerFixture().addScheduler();
  scheduler.start([taskHandler(onceTask, work)]);
  scheduler.schedule(onceTask, { n: 1 }, new Date());
  expect(await first(`task ${onceTask.name}`)).toMatchObject({ kind: 1, isFailed });
});

it("traces each subscription event with its SQL", async () => {
  await using app = await startTestApp();
  const agent = await app.createOrganization("agent");
  const [number = ""] = await app.createJobs(agent, [{}]);
  await waitUntilFeedIsComplete(app.database);
  const { events } = await subscribeAndWait(app, agent.key);
  await patchJob(app, agent, number, { weight: 2 });
  await eventually(() => expect(events).toHaveLength(1));
  const root = await first("GraphQL subscription");
  await eventually(() => {
    const children = collector.spans().filter(({ parentId }) => parentId === root.spanId);
    expect(children.map(({ name }) => name)).toContainEqual(expect.stringContaining("SELECT job"));
  });
});

it("traces the statements of an entity manager in a transaction, without their values", async () => {
  await using app = await startTestApp();
  const span = startTrace("work");
  await withSpan(span, () =>
    app.database.transactional((em) =>
      em.execute("select 'secret-value' as one, ?::text as two", ["secret-value"]),
    ),
  );
  const root = await first("work");
  await eventually(() => {
    const children = collector.spans().filter(({ parentId }) => parentId === root.spanId);
    expect(children.map(({ name }) => name)).toContainEqual(expect.stringMatching(/^SELECT/));
  });
  expect(JSON.stringify(collector.spans())).not.toContain("secret-value");
});
