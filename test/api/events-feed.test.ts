import { describe, expect, it } from "vitest";
import { encodeCursor } from "../../src/core/cursor.ts";
import { toTypedId } from "../../src/core/ids.ts";
import { expectData, expectFailure, expectProblems } from "../support/app/assertions.ts";
import { listFeedEvents, waitForFeedEvents, getFeed, type FeedEvent } from "../support/app/feed-client.ts";
import { jobPath, listJobs, patchJob } from "../support/app/job-client.ts";
import { useSharedApp } from "../support/app/shared-app.ts";

const { app } = useSharedApp();

const typesOf = (events: readonly FeedEvent[]): string[] => events.map((event) => event.type);

it("returns every event of the visible jobs in order, with the same body as webhooks", async () => {
  const agent = await app.createOrganization("agent");
  const [number = ""] = await app.createJobs(agent, [{ patch: { weight: 1 } }]);
  const updated = await patchJob(app, agent, number, { weight: 2 });
  const changed = await patchJob(app, agent, number, { normalized_status: "completed", labels: "x" });

  const events = await waitForFeedEvents(app, agent, 3);
  expect(typesOf(events)).toEqual(["job.created", "job.updated", "job.status_changed"]);
  expect(events[1]).toEqual({
    id: expect.stringMatching(/^evt_[0-7][0-9A-HJKMNP-TV-Z]{25}$/),
    type: "job.updated",
    api_version: "v1",
    timestamp: updated.body.data.updated_at,
    data: {
      job: updated.body.data,
      changes: { weight: { from: 1, to: 2 } },
      sequence: 2,
      actor: { type: "key", id: expect.stringMatching(/^key_/) },
      request_id: updated.body.request_id,
    },
  });
  expect(events[2]?.data).toMatchObject({
    job: changed.body.data,
    changes: { normalized_status: { from: "pending", to: "completed" }, labels: { from: null, to: "x" } },
  });
});

it("shows the agent the old and new contractor, and a contractor only itself", async () => {
  const agent = await app.createOrganization("agent");
  const [former, next] = [
    await app.createOrganization("contractor"),
    await app.createOrganization("contractor"),
  ];
  const [markingNumber = ""] = await app.createJobs(agent, [{ contractor: former }]);
  await app.createJobs(agent, [{ markingNumber, contractor: next }]);

  const own = toTypedId("org", next.id);
  const [, , seenByAgent] = await waitForFeedEvents(app, agent, 3);
  expect(seenByAgent?.data.changes["contractor_id"]).toEqual({
    from: toTypedId("org", former.id),
    to: own,
  });
  const [seenByNext] = await waitForFeedEvents(app, next, 1);
  expect(seenByNext?.data.changes["contractor_id"]).toEqual({ from: null, to: own });
  const history = expectData(await app.call(`${jobPath(markingNumber)}/history`, { key: next.key }));
  expect(JSON.stringify(history)).not.toContain(toTypedId("org", former.id));
});

describe("after", () => {
  it("continues after the previous page, and stays at the end", async () => {
    const agent = await app.createOrganization("agent");
    await app.createJobs(agent, 3);
    await waitForFeedEvents(app, agent, 3);
    const first = expectData(await getFeed(app, agent, "page_size=2"));
    const last = expectData(await getFeed(app, agent, `page_size=2&after=${first.next_cursor}`));
    expect([first.has_more, last.has_more]).toEqual([true, false]);
    const events = [...first.items, ...last.items] as FeedEvent[];
    expect(new Set(events.map(({ id }) => id)).size).toBe(3);
    const end = expectData(await getFeed(app, agent, `after=${last.next_cursor}`));
    expect(end).toEqual({ items: [], next_cursor: last.next_cursor, has_more: false });
  });

  it("is null while there are no events", async () => {
    const data = expectData(await getFeed(app, await app.createOrganization("agent")));
    expect(data).toEqual({ items: [], next_cursor: null, has_more: false });
  });

  it("returns 400 if it is not a cursor of this feed", async () => {
    const agent = await app.createOrganization("agent");
    await app.createJobs(agent, [{}, {}]);
    const { next_cursor: jobs } = expectData(await listJobs(app, agent, "page_size=1")).pagination;
    const created = [
      ["-1", "1"],
      ["1"],
      [1, 1],
      ["1", "x"],
      ["1".repeat(20), "1"],
      ["1", "9".repeat(19)],
      [],
    ].map((values) => encodeCursor("events", values));
    for (const after of [jobs, "x", "%00", "é", "a".repeat(513), ...created]) {
      expectProblems(await getFeed(app, agent, `after=${after}`), "query", ["after"]);
    }
  });

  it("accepts a position that no event has", async () => {
    const agent = await app.createOrganization("agent");
    await app.createJobs(agent, [{}]);
    await waitForFeedEvents(app, agent, 1);
    expect(await listFeedEvents(app, agent, `after=${encodeCursor("events", ["0", "0"])}`)).toHaveLength(1);
    expect(
      await listFeedEvents(app, agent, `after=${encodeCursor("events", ["9".repeat(19), "9".repeat(18)])}`),
    ).toEqual([]);
  });
});

it("returns 400 with the unknown type in the message", async () => {
  const query = "types=job.created&types=job.nope";
  const { message, details } = expectFailure(
    await getFeed(app, await app.createOrganization("agent"), query),
    400,
  );
  const sentence =
    'must be one of job.created, job.updated, job.status_changed, job.assigned, job.unassigned, job.deleted; got "job.nope"';
  expect(message).toBe(`types[1] ${sentence}`);
  expect(details).toMatchObject([{ field: "types[1]", message: sentence }]);
});

it("returns 100 events per page by default", async () => {
  const agent = await app.createOrganization("agent");
  await app.createJobs(agent, 101);
  await waitForFeedEvents(app, agent, 100);
  expect(expectData(await getFeed(app, agent)).has_more).toBe(true);
  expect(expectData(await getFeed(app, agent, "page_size=100")).items).toHaveLength(100);
});
