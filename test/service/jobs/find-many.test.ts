/** Batch look-ups of jobs, organisations and events: order of the results and visibility. */
import { beforeAll, describe, expect, it } from "vitest";
import { feedCursor, readFeedCursor } from "../../../src/events/cursors.ts";
import { findEventsById, readHistories } from "../../../src/events/history.sql.ts";
import { createEventService, type EventService } from "../../../src/events/service.ts";
import type { EventWithPosition } from "../../../src/events/history.sql.ts";
import {
  findJobsById,
  findJobsByMarkingNumber,
  findOrganizationsById,
} from "../../../src/jobs/list/find.sql.ts";
import { upsertRows } from "../../../src/jobs/update/upsert.sql.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { newUuid } from "../../../src/core/ids.ts";
import { systemActor, type OrganizationPrincipal, type Principal } from "../../../src/core/principal.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { waitUntilFeedIsComplete } from "../../support/app/feed-client.ts";
import { principalNames, useJobReadFixture } from "../../support/jobs/read.fixture.ts";

const reads = useJobReadFixture();
/** UUID by Marking Number. The agent's jobs: A (contractor), B (other contractor), C (unassigned); the other agent's: D (contractor). */
let ids: Record<string, string>;
let events: EventWithPosition[];

const visibleJobs: Record<(typeof principalNames)[number], string[]> = {
  agent: ["A", "B", "C"],
  otherAgent: ["D"],
  contractor: ["A", "D"],
  otherContractor: ["B"],
  outsider: [],
  operator: ["A", "B", "C", "D"],
};
const numbers = ["D", "A", "none", "C", "B", "A"];
let service: EventService;

beforeAll(async () => {
  service = createEventService({ database: reads.database, clock: systemClock });
  const { database, agent, otherAgent, contractor, otherContractor } = reads;
  const upsert = (
    markingNumber: string,
    owner: OrganizationPrincipal,
    assignee?: OrganizationPrincipal,
    patch = {},
  ) => {
    const job = {
      markingNumber,
      agentId: owner.organizationId,
      contractorId: assignee?.organizationId,
      patch,
    };
    return database.transaction((tx) => upsertRows(tx, [job], { actor: systemActor, requestId: "req_test" }));
  };
  await upsert("A", agent, contractor);
  // B was assigned to the contractor before the other contractor.
  await upsert("B", agent, contractor);
  await upsert("B", agent, otherContractor);
  await upsert("C", agent);
  await upsert("D", otherAgent, contractor);
  for (let weight = 1; weight <= 5; weight += 1) await upsert("A", agent, undefined, { weight });
  const rows = await database.query<{ id: string; marking_number: string }>(
    sql`select id, marking_number from job`,
  );
  ids = Object.fromEntries(rows.map((row) => [row.marking_number, row.id]));
  events = await database.query<EventWithPosition>(
    sql`select id, job_id, sequence from job_event order by job_id, sequence`,
  );
  await waitUntilFeedIsComplete(database);
});

describe.each(principalNames)("the %s", (name) => {
  const visible = (number: string): boolean => visibleJobs[name].includes(number);
  const principal = (): Principal => reads[name];

  it("finds its jobs by Marking Number and by id, in the requested order", async () => {
    const byNumber = await findJobsByMarkingNumber(reads.database, principal(), numbers);
    const byId = await findJobsById(
      reads.database,
      principal(),
      numbers.map((number) => ids[number] ?? newUuid()),
    );
    const expected = numbers.map((number) => (visible(number) ? number : null));
    expect(byNumber.map((job) => job && job.marking_number)).toEqual(expected);
    expect(byId).toEqual(byNumber);
  });

  it("finds its own organisation and those that it shares jobs with", async () => {
    const requested = ["outsider", "contractor", "agent", "otherContractor", "otherAgent"] as const;
    const known: Record<(typeof principalNames)[number], readonly string[]> = {
      agent: ["agent", "contractor", "otherContractor"],
      otherAgent: ["otherAgent", "contractor"],
      contractor: ["contractor", "agent", "otherAgent"],
      otherContractor: ["otherContractor", "agent"],
      outsider: ["outsider"],
      operator: requested,
    };
    const found = await findOrganizationsById(reads.database, principal(), [
      newUuid(),
      ...requested.map((organization) => reads[organization].organizationId),
    ]);
    expect(found.map((organization) => organization && organization.id)).toEqual([
      null,
      ...requested.map((organization) =>
        known[name].includes(organization) ? reads[organization].organizationId : null,
      ),
    ]);
  });

  it("reads the histories of its jobs only, newest first and page by page", async () => {
    const requested = ["A", "B", "C", "D"];
    const page = async (limit: number, beforeSequence: number | null) => {
      const histories = await readHistories(reads.database, principal(), {
        jobIds: requested.map((number) => ids[number] as string),
        request: { limit, beforeSequence },
      });
      return histories.map(({ items, hasMore }) => ({
        sequences: items.map((item) => item.sequence),
        hasMore,
      }));
    };
    const whole = { A: [7, 6, 5, 4, 3, 2, 1], B: [3, 2, 1], C: [1], D: [2, 1] };
    const expected = (from: number, limit: number) =>
      requested.map((number) => {
        const left = visible(number)
          ? whole[number as keyof typeof whole].filter((sequence) => sequence < from)
          : [];
        return { sequences: left.slice(0, limit), hasMore: left.length > limit };
      });
    expect(await page(100, null)).toEqual(expected(99, 100));
    expect(await page(2, null)).toEqual(expected(99, 2));
    expect(await page(2, 3)).toEqual(expected(3, 2));
  });

  it("finds only the events of its feed and of its jobs' histories", async () => {
    const feed = await service.feed(principal(), { after: null, types: [], limit: 100 });
    const feedEvents = new Set(feed.items.map((item) => item.id));
    const found = await findEventsById(reads.database, principal(), [
      newUuid(),
      ...events.map((event) => event.id),
    ]);
    const visibleIds = new Set(visibleJobs[name].map((number) => ids[number]));
    expect(found[0]).toBeNull();
    expect(found.slice(1).map((event) => event && event.id)).toEqual(
      events.map(({ id, job_id }) => (feedEvents.has(id) || visibleIds.has(job_id) ? id : null)),
    );
  });

  it("pages through the same feed as REST with the same cursors", async () => {
    const rest = await service.feedWithJobs(principal(), { after: null, types: [], limit: 100 });
    const listed: EventWithPosition[] = [];
    for (let hasMore = true, after = null; hasMore;) {
      const page = await service.feed(principal(), { after, types: [], limit: 2 });
      listed.push(...page.items);
      hasMore = page.hasMore;
      after = hasMore ? (readFeedCursor(feedCursor(page.items.at(-1) as EventWithPosition)) as never) : null;
    }
    expect(listed.map((event) => event.id)).toEqual(rest.items.map((event) => event.id));
    expect(listed.every((event) => !("job" in event) && typeof event.job_id === "string")).toBe(true);
    const created = await service.feed(principal(), { after: null, types: ["job.created"], limit: 100 });
    expect(created.items.map((event) => event.id)).toEqual(
      listed.filter((event) => event.type === "job.created").map((event) => event.id),
    );
  });
});

it("a former contractor sees only the events from the time of its assignment, and its end", async () => {
  const { items } = await service.feed(reads.contractor, { after: null, types: [], limit: 100 });
  const eventsOfB = events.filter((event) => event.job_id === ids["B"]);
  const found = await findEventsById(
    reads.database,
    reads.contractor,
    eventsOfB.map((event) => event.id),
  );
  expect(found.map((event) => event?.sequence ?? null)).toEqual([null, 2, null]);
  expect(items.filter((item) => item.job_id === ids["B"]).map((item) => [item.type, item.sequence])).toEqual([
    ["job.assigned", 2],
    ["job.unassigned", 3],
  ]);
});

it("Marking Numbers that PostgreSQL cannot store find no job", async () => {
  const requested = ["A\0", "\ud800", "A"];
  const found = await findJobsByMarkingNumber(reads.database, reads.agent, requested);
  expect(found.map((job) => job && job.marking_number)).toEqual([null, null, "A"]);
});

it("the feed orders transactions by number, not as text", async () => {
  await reads.database.query(sql`
    update job_event set transaction_id = (case when sequence < 4 then '9' else '10' end)::xid8 where job_id = ${ids["A"]}`);
  for (const principal of [reads.agent, reads.operator]) {
    const { items } = await service.feed(principal, { after: null, types: [], limit: 7 });
    expect(items.map((item) => item.sequence)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    const next = await service.feed(principal, {
      after: { transaction_id: "9", position: "999999" },
      types: [],
      limit: 1,
    });
    expect(next.items.map((item) => item.sequence)).toEqual([4]);
  }
});
