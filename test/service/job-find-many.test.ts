/** Jobs, organisations and events by what names them: in the order asked, and nothing that is not visible. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { feedCursor, readFeedCursor } from "../../src/events/event.cursor.ts";
import {
  listFeedEvents,
  findEventsById,
  historiesOf,
  type EventWithPosition,
} from "../../src/events/event.queries.ts";
import { createEventService } from "../../src/events/event.service.ts";
import {
  findJobsById,
  findJobsByMarkingNumber,
  findOrganizationsById,
} from "../../src/jobs/list/find-many.ts";
import { upsertRows } from "../../src/jobs/update/upsert.sql.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { newUuid } from "../../src/platform/ids.ts";
import { systemActor, type Principal } from "../../src/platform/principal.ts";
import { sql } from "../../src/platform/postgres/sql.ts";
import { openJobReadFixture, principalNames, type JobReadFixture } from "../support/jobs/read.fixture.ts";

let reads: JobReadFixture;
/** Marking Number → uuid. Of the agent: A (contractor), B (other contractor), C (nobody); of the other agent: D (contractor). */
let ids: Record<string, string>;
let events: EventWithPosition[];

const seen: Record<(typeof principalNames)[number], string[]> = {
  agent: ["A", "B", "C"],
  otherAgent: ["D"],
  contractor: ["A", "D"],
  otherContractor: ["B"],
  stranger: [],
  operator: ["A", "B", "C", "D"],
};
const numbers = ["D", "A", "none", "C", "B", "A"];
const clock = systemClock;

beforeAll(async () => {
  reads = await openJobReadFixture();
  const { database, agent, otherAgent, contractor, otherContractor } = reads;
  const upsert = (
    markingNumber: string,
    changes: { agent?: typeof agent; contractor?: typeof agent; weight?: number },
  ) =>
    database.transaction((tx) =>
      upsertRows(
        tx,
        [
          {
            markingNumber,
            agentId: (changes.agent ?? agent).organizationId,
            contractorId: changes.contractor?.organizationId,
            patch: changes.weight === undefined ? {} : { weight: changes.weight },
          },
        ],
        { actor: systemActor, requestId: "req_test" },
      ),
    );
  await upsert("A", { contractor });
  // B was the contractor's before it became the other's.
  await upsert("B", { contractor });
  await upsert("B", { contractor: otherContractor });
  await upsert("C", {});
  await upsert("D", { agent: otherAgent, contractor });
  for (let weight = 1; weight <= 5; weight += 1) await upsert("A", { weight });
  const rows = await database.query<{ id: string; marking_number: string }>(
    sql`select id, marking_number from job`,
  );
  ids = Object.fromEntries(rows.map((row) => [row.marking_number, row.id]));
  events = await database.query<EventWithPosition>(
    sql`select id, job_id, sequence from job_event order by job_id, sequence`,
  );
});
afterAll(() => reads[Symbol.asyncDispose]());

describe.each(principalNames)("the %s", (name) => {
  const visible = (number: string): boolean => seen[name].includes(number);
  const viewer = (): Principal => reads[name];

  it("finds its jobs by Marking Number and by id, in the order asked", async () => {
    const byNumber = await findJobsByMarkingNumber(reads.database, viewer(), numbers);
    const byId = await findJobsById(
      reads.database,
      viewer(),
      numbers.map((number) => ids[number] ?? newUuid()),
    );
    const expected = numbers.map((number) => (visible(number) ? number : null));
    expect(byNumber.map((job) => job && job.marking_number)).toEqual(expected);
    expect(byId).toEqual(byNumber);
  });

  it("finds its own organisation and those that it has jobs with", async () => {
    const asked = ["stranger", "contractor", "agent", "otherContractor", "otherAgent"] as const;
    const known: Record<(typeof principalNames)[number], readonly string[]> = {
      agent: ["agent", "contractor", "otherContractor"],
      otherAgent: ["otherAgent", "contractor"],
      contractor: ["contractor", "agent", "otherAgent"],
      otherContractor: ["otherContractor", "agent"],
      stranger: ["stranger"],
      operator: asked,
    };
    const found = await findOrganizationsById(reads.database, viewer(), [
      newUuid(),
      ...asked.map((organization) => reads[organization].organizationId),
    ]);
    expect(found.map((organization) => organization && organization.id)).toEqual([
      null,
      ...asked.map((organization) =>
        known[name].includes(organization) ? reads[organization].organizationId : null,
      ),
    ]);
  });

  it("reads the histories of its jobs, newest first, page by page, and of no others", async () => {
    const asked = ["A", "B", "C", "D"];
    const page = async (limit: number, beforeSequence: number | null) => {
      const histories = await historiesOf(
        reads.database,
        viewer(),
        asked.map((number) => ids[number] as string),
        { limit, beforeSequence },
      );
      return histories.map(({ items, hasMore }) => ({
        sequences: items.map((item) => item.sequence),
        hasMore,
      }));
    };
    const whole = { A: [7, 6, 5, 4, 3, 2, 1], B: [3, 2, 1], C: [1], D: [2, 1] };
    const expected = (from: number, limit: number) =>
      asked.map((number) => {
        const left = visible(number)
          ? whole[number as keyof typeof whole].filter((sequence) => sequence < from)
          : [];
        return { sequences: left.slice(0, limit), hasMore: left.length > limit };
      });
    expect(await page(100, null)).toEqual(expected(99, 100));
    expect(await page(2, null)).toEqual(expected(99, 2));
    expect(await page(2, 3)).toEqual(expected(3, 2));
  });

  it("finds the events of its feed and of its jobs' histories, and no others", async () => {
    const feed = await listFeedEvents({ database: reads.database, clock }, viewer(), {
      after: null,
      types: [],
      limit: 100,
    });
    const ofFeed = new Set(feed.items.map((item) => item.id));
    const found = await findEventsById(reads.database, viewer(), [
      newUuid(),
      ...events.map((event) => event.id),
    ]);
    const ofJobs = new Set(seen[name].map((number) => ids[number]));
    expect(found[0]).toBeNull();
    expect(found.slice(1).map((event) => event && event.id)).toEqual(
      events.map(({ id, job_id }) => (ofFeed.has(id) || ofJobs.has(job_id) ? id : null)),
    );
  });

  it("walks the same feed as REST's, by the same cursors", async () => {
    const parts = { database: reads.database, clock };
    const rest = await createEventService(parts).feed(viewer(), { after: null, types: [], limit: 100 });
    const met: EventWithPosition[] = [];
    for (let goesOn = true, after = null; goesOn;) {
      const page = await listFeedEvents(parts, viewer(), { after, types: [], limit: 2 });
      met.push(...page.items);
      goesOn = page.hasMore;
      after = goesOn ? (readFeedCursor(feedCursor(page.items.at(-1) as EventWithPosition)) as never) : null;
    }
    expect(met.map((event) => event.id)).toEqual(rest.items.map((event) => event.id));
    expect(met.every((event) => !("job" in event) && typeof event.job_id === "string")).toBe(true);
    const created = await listFeedEvents(parts, viewer(), {
      after: null,
      types: ["job.created"],
      limit: 100,
    });
    expect(created.items.map((event) => event.id)).toEqual(
      met.filter((event) => event.type === "job.created").map((event) => event.id),
    );
  });
});

it("a former contractor keeps the events of its time, and gets no later ones", async () => {
  const { items } = await listFeedEvents({ database: reads.database, clock }, reads.contractor, {
    after: null,
    types: [],
    limit: 100,
  });
  const ofB = events.filter((event) => event.job_id === ids["B"]);
  const kept = await findEventsById(
    reads.database,
    reads.contractor,
    ofB.map((event) => event.id),
  );
  expect(kept.map((event) => event?.sequence ?? null)).toEqual([null, 2, null]);
  expect(items.filter((item) => item.job_id === ids["B"]).map((item) => item.sequence)).toEqual([2]);
});

it("what is no text of PostgreSQL's names no job", async () => {
  const asked = ["A\0", "\ud800", "A"];
  const found = await findJobsByMarkingNumber(reads.database, reads.agent, asked);
  expect(found.map((job) => job && job.marking_number)).toEqual([null, null, "A"]);
});

it("asks PostgreSQL nothing where nothing is asked", async () => {
  const silent = {
    query: () => Promise.reject(new Error("nothing was asked")),
  };
  expect(await findJobsById(silent, reads.agent, [])).toEqual([]);
  expect(await findJobsByMarkingNumber(silent, reads.agent, ["\0"])).toEqual([null]);
  expect(await findOrganizationsById(silent, reads.agent, [])).toEqual([]);
  expect(await findEventsById(silent, reads.agent, [])).toEqual([]);
  expect(await historiesOf(silent, reads.agent, [], { limit: 1, beforeSequence: null })).toEqual([]);
});

it("the feed is in the order of transactions as numbers: 9 comes before 10", async () => {
  await reads.database.query(sql`
    update job_event set transaction_id = (case when sequence < 4 then '9' else '10' end)::xid8 where job_id = ${ids["A"]}`);
  const parts = { database: reads.database, clock };
  for (const viewer of [reads.agent, reads.operator]) {
    const { items } = await listFeedEvents(parts, viewer, { after: null, types: [], limit: 7 });
    expect(items.map((item) => item.sequence)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    const next = await listFeedEvents(parts, viewer, {
      after: { transactionId: "9", position: "999999" },
      types: [],
      limit: 1,
    });
    expect(next.items.map((item) => item.sequence)).toEqual([4]);
  }
});
