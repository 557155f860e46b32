import { expect, it } from "vitest";
import { assignContractors, upsertRows } from "../../src/jobs/update/upsert.sql.ts";
import { newUuid } from "../../src/core/ids.ts";
import { systemActor } from "../../src/core/principal.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import { expectData } from "../support/app/assertions.ts";
import { waitForFeedEvents, getFeed, type FeedEvent } from "../support/app/feed-client.ts";
import { patchJob } from "../support/app/job-client.ts";
import { startTestApp } from "../support/app/app.fixture.ts";
import { useSharedApp } from "../support/app/shared-app.ts";
import { eventually } from "../support/eventually.ts";

const { app } = useSharedApp();

it("skips no event of a transaction that commits after later ones", async () => {
  const agent = await app.createOrganization("agent");
  const context = { actor: systemActor, requestId: null };
  const [later = ""] = await app.createJobs(agent, [{}]);
  const held = `${later}-HELD`;
  await waitForFeedEvents(app, agent, 1);
  let cursor = "";

  await app.database.transaction(async (tx) => {
    await upsertRows(tx, [{ markingNumber: held, agentId: agent.id, patch: {} }], context);
    expectData(await patchJob(app, agent, later, { weight: 1 }));
    const data = expectData(await getFeed(app, agent));
    expect(data.items).toHaveLength(1);
    cursor = data.next_cursor as string;
    await assignContractors(
      tx,
      [{ markingNumber: held, contractorId: (await app.createOrganization("contractor")).id }],
      context,
    );
  });

  const events = await waitForFeedEvents(app, agent, 3, `after=${cursor}`);
  const seen = events.map((event) => [event.data.job.marking_number, event.type]);
  expect(seen).toEqual([
    [held, "job.created"],
    [held, "job.assigned"],
    [later, "job.updated"],
  ]);
});

it("returns the very first events, even if the later has the smaller ID", async () => {
  await using young = await startTestApp({ WAYMARK_ROLE: "api" });
  const agent = await young.createOrganization("agent");
  await young.createJobs(agent, [{}, {}]);
  // IDs are generated before the statement, so the later event may have the smaller ID.
  const now = Date.now();
  await young.database.query(sql`
    update job_event set id = case position when 1 then ${newUuid(now)}::uuid else ${newUuid(now - 1_000)}::uuid end`);
  expect(await waitForFeedEvents(young, agent, 2)).toHaveLength(2);
});

it("returns each event once and each job's events in order to a reader that polls during writes", async () => {
  const agent = await app.createOrganization("agent");
  const numbers = await app.createJobs(agent, 8);
  const read: FeedEvent[] = [];
  let after = "";
  const poll = async (): Promise<void> => {
    const data = expectData(await getFeed(app, agent, `page_size=7${after}`));
    read.push(...(data.items as FeedEvent[]));
    if (data.next_cursor) after = `&after=${data.next_cursor}`;
  };
  let writers = numbers.length;
  const write = async (number: string): Promise<void> => {
    for (let weight = 1; weight <= 10; weight += 1)
      expectData(await patchJob(app, agent, number, { weight }));
    writers -= 1;
  };
  const writing = Promise.all(numbers.map(write));
  while (writers > 0) await poll();
  await writing;
  await eventually(async () => {
    await poll();
    expect(read.length).toBeGreaterThanOrEqual(88);
  });

  expect(new Set(read.map((event) => event.id)).size).toBe(88);
  expect(read).toHaveLength(88);
  for (const number of numbers) {
    const sequences = read
      .filter((event) => event.data.job.marking_number === number)
      .map((event) => event.data.sequence);
    expect(sequences).toEqual(Array.from({ length: 11 }, (_, index) => index + 1));
  }
});
