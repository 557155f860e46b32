/** Start and continuation of the feed: expired cursors, `latest`, and a feed delayed by an open transaction. */
import pg from "pg";
import { describe, expect, it } from "vitest";
import { encodeCursor } from "../../src/core/cursor.ts";
import { expectData, expectFailure } from "../support/app/assertions.ts";
import { createFakeClock, DAY_MS, HOUR_MS } from "../support/fake-clock.ts";
import { listFeedEvents, waitForFeedEvents, getFeed, type FeedEvent } from "../support/app/feed-client.ts";
import { queryData, graphql } from "../support/graphql/client.ts";
import { startAppInstance } from "../support/app/app-instance.ts";
import { patchJob } from "../support/app/job-client.ts";
import { useSharedApp } from "../support/app/shared-app.ts";
import { eventually } from "../support/eventually.ts";

const { app } = useSharedApp();

const typesOf = (events: readonly FeedEvent[]): string[] => events.map((event) => event.type);

async function lag(): Promise<number> {
  const text = (await app.request("/metrics")).text;
  return Number(/^waymark_feed_lag_seconds (\S+)$/m.exec(text)?.[1]);
}

describe("410 if events after the cursor have expired", () => {
  it("contains the oldest valid cursor, in REST and GraphQL; a cursor after the expired events stays valid", async () => {
    const agent = await app.createOrganization("agent");
    await app.createJobs(agent, [{}]);
    await waitForFeedEvents(app, agent, 1);
    const { next_cursor: seen } = expectData(await getFeed(app, agent));
    const before = encodeCursor("events", ["0", "0"]);
    const clock = createFakeClock();
    await using later = await startAppInstance(app.databaseUrl, { WAYMARK_ROLE: "api" }, { clock });
    clock.advance(30 * DAY_MS - HOUR_MS);
    expect(expectData(await getFeed(later, agent)).items).toHaveLength(1);
    clock.advance(2 * HOUR_MS);
    const { message, details } = expectFailure(await getFeed(later, agent, `after=${before}`), 410);
    expect(message).toMatch(/Take a new cursor with after=latest, list the jobs, then follow the feed/);
    const { oldest_cursor: oldest } = details as { oldest_cursor: string };
    expect(expectData(await getFeed(later, agent, `after=${oldest}`)).items).toEqual([]);
    expect(expectData(await getFeed(later, agent, `after=${seen}`)).items).toEqual([]);
    expect(expectData(await getFeed(later, agent)).items).toEqual([]);

    const query = `{ events(after: "${before}") { nodes { id } } }`;
    const { status, errors } = await graphql(later, query, { key: agent.key });
    expect(status).toBe(410);
    expect(errors?.[0]?.extensions).toMatchObject({
      code: "CURSOR_EXPIRED",
      details: { oldest_cursor: oldest },
    });
  });

  it("but not if the reader was there for all of them, with a filter that none matched", async () => {
    const agent = await app.createOrganization("agent");
    const { next_cursor: first } = expectData(await getFeed(app, agent, "after=latest"));
    await app.createJobs(agent, [{}]);
    await waitForFeedEvents(app, agent, 1);
    const poll = `types=job.assigned&after=${first}`;
    const { items, next_cursor: seen, has_more } = expectData(await getFeed(app, agent, poll));
    expect([items, has_more]).toEqual([[], false]);
    const clock = createFakeClock();
    await using later = await startAppInstance(app.databaseUrl, { WAYMARK_ROLE: "api" }, { clock });
    clock.advance(30 * DAY_MS + HOUR_MS);
    expect(expectData(await getFeed(later, agent, `types=job.assigned&after=${seen}`)).items).toEqual([]);
    expectFailure(await getFeed(later, agent, poll), 410);
  });
});

it("after=latest returns no events and a cursor for all later events, in REST and GraphQL", async () => {
  const agent = await app.createOrganization("agent");
  const [number = ""] = await app.createJobs(agent, [{}]);
  await waitForFeedEvents(app, agent, 1);
  const { items, next_cursor: rest, has_more } = expectData(await getFeed(app, agent, "after=latest"));
  expect([items, has_more]).toEqual([[], false]);
  const { events } = await queryData(
    app,
    '{ events(after: "latest") { nodes { id } edges { cursor } pageInfo { endCursor hasNextPage } } }',
    { key: agent.key },
  );
  expect(events).toMatchObject({ nodes: [], edges: [], pageInfo: { hasNextPage: false } });
  await patchJob(app, agent, number, { weight: 1 });
  for (const cursor of [rest, events.pageInfo.endCursor])
    expect(typesOf(await waitForFeedEvents(app, agent, 1, `after=${cursor}`))).toEqual(["job.updated"]);
});

it("waymark_feed_lag_seconds rises while an open transaction delays the feed, and then falls", async () => {
  const agent = await app.createOrganization("agent");
  const open = new pg.Client(app.databaseUrl);
  await open.connect();
  await open.query("begin");
  await open.query("select pg_current_xact_id()");
  try {
    await app.createJobs(agent, [{}]);
    expect(await listFeedEvents(app, agent)).toEqual([]);
    await eventually(async () => expect(await lag()).toBeGreaterThan(0));
  } finally {
    await open.end();
  }
  await waitForFeedEvents(app, agent, 1);
  await eventually(async () => expect(await lag()).toBe(0));
}, 80_000);
