import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { encodeCursor } from "../../src/platform/cursor.ts";
import { systemActor } from "../../src/platform/principal.ts";
import { assignRows, upsertRows } from "../../src/jobs/job.upsert.ts";
import { startInstance } from "../support/another-instance.ts";
import { expectData, expectFailure, expectProblems } from "../support/answers.ts";
import { createFakeClock, DAY_MS, HOUR_MS } from "../support/fake-clock.ts";
import { jobPath, listJobs, patchBatch, patchJob, type Api } from "../support/job-calls.ts";
import { startTestApp, type Answer, type Partner, type TestApp } from "../support/start-app.ts";

interface Event {
  id: string;
  type: string;
  data: { job: { marking_number: string }; sequence: number };
}

let app: TestApp;

beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app[Symbol.asyncDispose]());

function feed({ key }: Partner, query = "", api: Api = app): Promise<Answer> {
  return api.call(`/v1/events?${query}`, { key });
}

async function eventsOf(partner: Partner, query = ""): Promise<Event[]> {
  return expectData(await feed(partner, query)).items as Event[];
}

/**
 * The feed once it shows `count` events: it waits for transactions that began before an event's to end, and those of
 * other tests' databases count as well.
 */
function eventually(partner: Partner, count: number, query = ""): Promise<Event[]> {
  const look = async (): Promise<Event[]> => {
    const events = await eventsOf(partner, query);
    expect(events).toHaveLength(count);
    return events;
  };
  return vi.waitFor(look, { timeout: 20_000, interval: 20 });
}

const typesOf = (events: readonly Event[]): string[] => events.map((event) => event.type);

describe("GET /v1/events", () => {
  it("200 with every event of the visible jobs in order, each as a webhook carries it", async () => {
    const agent = await app.partner("agent");
    const [number = ""] = await app.jobs(agent, [{ patch: { weight: 1 } }]);
    const updated = await patchJob(app, agent, number, { weight: 2 });
    const changed = await patchJob(app, agent, number, { normalized_status: "completed", labels: "x" });

    const events = await eventually(agent, 3);
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

  it("200 with nothing for a change that changed nothing, a dry run and a failed item", async () => {
    const agent = await app.partner("agent");
    const [number = ""] = await app.jobs(agent, [{ patch: { weight: 1 } }]);
    await patchJob(app, agent, number, { weight: 1 });
    await patchJob(app, { ...agent, query: "dry_run=true" }, number, { weight: 2 });
    await patchBatch(app, agent, [
      { marking_number: number, weight: "2" },
      { marking_number: number, labels: "last" },
    ]);
    expect(typesOf(await eventually(agent, 2))).toEqual(["job.created", "job.updated"]);
  });

  it("200 with what an organisation may see, and only that", async () => {
    const [agent, stranger] = [await app.partner("agent"), await app.partner("agent")];
    const [former, next] = [await app.partner("contractor"), await app.partner("contractor")];
    const [number = ""] = await app.jobs(agent, [{}]);
    await app.jobs(agent, [{ markingNumber: number, contractor: former }]);
    await patchJob(app, former, number, { weight: 1 });
    await app.jobs(agent, [{ markingNumber: number, contractor: next }]);
    await patchJob(app, agent, number, { weight: 2 });

    const all = ["job.created", "job.assigned", "job.updated", "job.assigned", "job.updated"];
    expect(typesOf(await eventually(agent, 5))).toEqual(all);
    expect((await eventually(former, 2)).map((event) => event.data.sequence)).toEqual([2, 3]);
    expect((await eventually(next, 2)).map((event) => event.data.sequence)).toEqual([4, 5]);
    expect(await eventsOf(stranger)).toEqual([]);
  });

  describe("after", () => {
    it("goes on where the answer before ended, and tells whether there is more", async () => {
      const agent = await app.partner("agent");
      const [number = ""] = await app.jobs(agent, [{}]);
      await patchBatch(
        app,
        agent,
        [1, 2, 3, 4].map((weight) => ({ marking_number: number, weight })),
      );
      await eventually(agent, 5);

      const sequences: number[] = [];
      let after = "";
      for (const hasMore of [true, true, false]) {
        const data = expectData(await feed(agent, `page_size=2${after}`));
        sequences.push(...data.items.map((event: Event) => event.data.sequence));
        expect(data.has_more).toBe(hasMore);
        after = `&after=${data.next_cursor}`;
      }
      expect(sequences).toEqual([1, 2, 3, 4, 5]);
      const end = expectData(await feed(agent, after));
      expect(end).toEqual({ items: [], next_cursor: after.replace("&after=", ""), has_more: false });

      await patchJob(app, agent, number, { weight: 9 });
      expect(typesOf(await eventually(agent, 1, after))).toEqual(["job.updated"]);
    });

    it("is a place that stays: the same cursor leads to the same events", async () => {
      const agent = await app.partner("agent");
      await app.jobs(agent, [{}, {}, {}]);
      await eventually(agent, 3);
      const { next_cursor } = expectData(await feed(agent, "page_size=1"));
      const before = await eventsOf(agent, `after=${next_cursor}&page_size=2`);
      await app.jobs(agent, [{}]);
      expect(await eventsOf(agent, `after=${next_cursor}&page_size=2`)).toEqual(before);
    });

    it("is null while nothing ever happened", async () => {
      const data = expectData(await feed(await app.partner("agent")));
      expect(data).toEqual({ items: [], next_cursor: null, has_more: false });
    });

    it("400 when it is no cursor of this feed", async () => {
      const agent = await app.partner("agent");
      await app.jobs(agent, [{}, {}]);
      const { next_cursor: jobs } = expectData(await listJobs(app, agent, "page_size=1")).pagination;
      const made = [
        ["-1", "1"],
        ["1"],
        [1, 1],
        ["1", "x"],
        ["1".repeat(20), "1"],
        ["1", "9".repeat(19)],
        [],
      ].map((values) => encodeCursor("events", values));
      for (const after of [jobs, "x", "%00", "é", "a".repeat(513), ...made]) {
        expectProblems(await feed(agent, `after=${after}`), "query", ["after"]);
      }
    });

    it("200 with a place that no event ever had", async () => {
      const agent = await app.partner("agent");
      await app.jobs(agent, [{}]);
      await eventually(agent, 1);
      expect(await eventsOf(agent, `after=${encodeCursor("events", ["0", "0"])}`)).toHaveLength(1);
      expect(
        await eventsOf(agent, `after=${encodeCursor("events", ["9".repeat(19), "9".repeat(18)])}`),
      ).toEqual([]);
    });
  });

  describe("types", () => {
    it("narrows the feed to those named", async () => {
      const agent = await app.partner("agent");
      const [number = ""] = await app.jobs(agent, [{ contractor: await app.partner("contractor") }]);
      await patchJob(app, agent, number, { normalized_status: "failed" });
      await eventually(agent, 3);
      expect(typesOf(await eventsOf(agent, "types=job.status_changed"))).toEqual(["job.status_changed"]);
      expect(typesOf(await eventsOf(agent, "types=job.assigned,job.created"))).toEqual([
        "job.created",
        "job.assigned",
      ]);
      expect(await eventsOf(agent, "types=job.updated")).toEqual([]);
    });

    it.each([
      "types=",
      "types=job.deleted",
      "types=job.created,",
      "types=job.created,,job.updated",
      "types=JOB.CREATED",
      "types=job.created&types=job.updated",
    ])("400 when it is malformed: %s", async (query) => {
      expectFailure(await feed(await app.partner("agent"), query), 400);
    });
  });

  it.each(["page_size=0", "page_size=101", "page_size=x"])(
    "400 when page_size is malformed: %s",
    async (query) => {
      expectProblems(await feed(await app.partner("agent"), query), "query", ["page_size"]);
    },
  );

  it("has 100 events an answer unless asked otherwise", async () => {
    const agent = await app.partner("agent");
    await app.jobs(
      agent,
      Array.from({ length: 101 }, () => ({})),
    );
    await eventually(agent, 100);
    expect(expectData(await feed(agent)).has_more).toBe(true);
    expect(expectData(await feed(agent, "page_size=100")).items).toHaveLength(100);
  });

  it("skips nothing of a transaction that is held open while later ones are done", async () => {
    const agent = await app.partner("agent");
    const context = { actor: systemActor, requestId: null };
    const [later = ""] = await app.jobs(agent, [{}]);
    await eventually(agent, 1);
    let cursor = "";

    await app.database.transaction(async (tx) => {
      await upsertRows(tx, [{ markingNumber: "HELD-OPEN", agentId: agent.id, patch: {} }], context);
      expectData(await patchJob(app, agent, later, { weight: 1 }));
      const data = expectData(await feed(agent));
      expect(data.items).toHaveLength(1);
      cursor = data.next_cursor as string;
      await assignRows(
        tx,
        [{ markingNumber: "HELD-OPEN", contractorId: (await app.partner("contractor")).id }],
        context,
      );
    });

    const events = await eventually(agent, 3, `after=${cursor}`);
    const seen = events.map((event) => [event.data.job.marking_number, event.type]);
    expect(seen).toEqual([
      ["HELD-OPEN", "job.created"],
      ["HELD-OPEN", "job.assigned"],
      [later, "job.updated"],
    ]);
  });

  it("a reader who polls while many write gets each event once, and each job's in order", async () => {
    const agent = await app.partner("agent");
    const numbers = await app.jobs(
      agent,
      Array.from({ length: 8 }, () => ({})),
    );
    const read: Event[] = [];
    let after = "";
    const poll = async (): Promise<void> => {
      const data = expectData(await feed(agent, `page_size=7${after}`));
      read.push(...(data.items as Event[]));
      if (data.next_cursor) after = `&after=${data.next_cursor}`;
    };
    const write = async (number: string): Promise<void> => {
      for (let weight = 1; weight <= 10; weight += 1) {
        expectData(await patchJob(app, agent, number, { weight }));
        await poll2(weight);
      }
    };
    // Polls one after the other, in between the writes.
    let turn: Promise<void> = Promise.resolve();
    const poll2 = async (weight: number): Promise<void> => {
      if (weight % 3 === 0) await (turn = turn.then(poll));
    };
    await Promise.all(numbers.map(write));
    await vi.waitFor(async () => {
      await poll();
      expect(read.length).toBeGreaterThanOrEqual(88);
    }, 20_000);

    expect(new Set(read.map((event) => event.id)).size).toBe(88);
    expect(read).toHaveLength(88);
    for (const number of numbers) {
      const sequences = read
        .filter((event) => event.data.job.marking_number === number)
        .map((event) => event.data.sequence);
      expect(sequences).toEqual(Array.from({ length: 11 }, (_, at) => at + 1));
    }
  });

  it("goes back 30 days", async () => {
    const agent = await app.partner("agent");
    await app.jobs(agent, [{}]);
    await eventually(agent, 1);
    const clock = createFakeClock();
    await using later = await startInstance(app.databaseUrl, {}, { clock });
    clock.advance(30 * DAY_MS - HOUR_MS);
    expect(expectData(await feed(agent, "", later)).items).toHaveLength(1);
    clock.advance(2 * HOUR_MS);
    expect(expectData(await feed(agent, "", later)).items).toHaveLength(0);
    const start = encodeCursor("events", ["0", "0"]);
    expect(expectData(await feed(agent, `after=${start}`, later)).items).toHaveLength(0);
  });

  it("401 without a key", async () => {
    expectFailure(await app.call("/v1/events"), 401);
  });

  it("403 when the key lacks jobs:read", async () => {
    expectFailure(await feed(await app.partner("agent", { scopes: ["webhooks:manage"] })), 403);
  });

  it("405 with Allow for another method", async () => {
    const answer = await app.call("/v1/events", { method: "POST", key: (await app.partner("agent")).key });
    expectFailure(answer, 405);
    expect(answer.headers.get("allow")).toBe("GET, HEAD");
  });

  it("is what a job's history says too", async () => {
    const agent = await app.partner("agent");
    const [number = ""] = await app.jobs(agent, [{}]);
    await patchJob(app, agent, number, { weight: 1 });
    const events = await eventually(agent, 2);
    const steps = expectData(await app.call(`${jobPath(number)}/history`, { key: agent.key })).items;
    expect(steps.map((step: { id: string }) => step.id)).toEqual(
      events.map((event) => event.id).toReversed(),
    );
  });
});
