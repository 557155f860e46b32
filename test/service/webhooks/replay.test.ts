/** Replays of one delivery, of failed deliveries, and of events without a delivery. */
import { describe, expect, it } from "vitest";
import { fromTypedId, newUuid, uuidV7Sql } from "../../../src/core/ids.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { flagPending } from "../../../src/webhooks/deliveries/flag-after-restore.sql.ts";
import { DAY_MS, HOUR_MS } from "../../support/fake-clock.ts";
import {
  createAgentWithEndpoint,
  createAgentWithFailed,
  finishPendingDeliveries,
} from "../../support/webhooks/delivery.fixture.ts";
import { UNREACHABLE_URL } from "../../support/webhooks/endpoint.fixture.ts";
import { useWebhookServices, type WebhookServiceFixture } from "../../support/webhooks/service.fixture.ts";

const services = useWebhookServices();

const replayCount = async (...request: Parameters<WebhookServiceFixture["deliveries"]["replayMany"]>) =>
  (await services.deliveries.replayMany(...request)).replayed;

describe("replay", () => {
  it("keeps the after_restore mark", async () => {
    const { agent, id, uuid, list } = await createAgentWithEndpoint(services);
    const marks = (origin: string) =>
      services.database.query<{ after_restore: boolean }>(sql`
        select after_restore from webhook_delivery where endpoint_id = ${uuid} and origin = ${origin} order by id`);
    await services.createJobs(agent, 2);
    await flagPending(services.database);
    const [, waiting] = await list();
    await services.deliveries.replay(agent, waiting!.id);
    await services.createJobs(agent, 1);
    expect(await marks("event")).toEqual([true, true, false].map((mark) => ({ after_restore: mark })));
    expect(await marks("replay")).toEqual([{ after_restore: true }]);

    await finishPendingDeliveries(services, uuid, "failed");
    await services.deliveries.replayMany(agent, id, {
      which: "failed",
      since: new Date(Date.now() - HOUR_MS),
    });
    const marked = await marks("replay");
    expect(marked).toHaveLength(4);
    expect(marked.filter(({ after_restore: mark }) => mark)).toHaveLength(3);
  });

  it("succeeds while a worker finishes the same delivery", async () => {
    const { agent, uuid, list } = await createAgentWithEndpoint(services);
    for (let round = 0; round < 10; round += 1) {
      await services.createJob(agent);
      const [delivery] = await list();
      const [made] = await Promise.all([
        services.deliveries.replay(agent, delivery!.id),
        finishPendingDeliveries(services, uuid, "delivered").catch(() => undefined),
      ]);
      expect(made.origin).toBe("replay");
    }
    expect((await services.listDeliveries(sql`endpoint_id = ${uuid} and origin = 'replay'`)).length).toBe(10);
  });
});

describe("replayFailed", () => {
  it("replays each delivery that failed since the given time once", async () => {
    const { agent, id, uuid } = await createAgentWithEndpoint(services);
    await services.createJobs(agent, 3);
    await finishPendingDeliveries(services, uuid, "failed", { agoMs: 2 * HOUR_MS });
    await services.createJobs(agent, 4);
    await finishPendingDeliveries(services, uuid, "failed");
    await services.createJobs(agent, 2);
    await finishPendingDeliveries(services, uuid, "delivered");
    await services.createJobs(agent, 1);
    const since = new Date(Date.now() - HOUR_MS);
    expect(await replayCount(agent, id, { which: "failed", since })).toBe(4);
    expect(await replayCount(agent, id, { which: "failed", since })).toBe(0);
    const replays = await services.listDeliveries(sql`endpoint_id = ${uuid} and origin = 'replay'`);
    expect(replays).toHaveLength(4);
    expect(new Set(replays.map((row) => row.event_id)).size).toBe(4);

    // A replay that fails can be replayed again.
    await finishPendingDeliveries(services, uuid, "failed");
    expect(await replayCount(agent, id, { which: "failed", since })).toBe(5);
    const all = new Date(Date.now() - DAY_MS);
    expect(await replayCount(agent, id, { which: "failed", since: all })).toBe(3);
  });

  it("replays nothing twice for concurrent requests", async () => {
    const { agent, id } = await createAgentWithFailed(services, 50);
    const since = new Date(Date.now() - HOUR_MS);
    const answers = await Promise.all(
      // One organisation can run two.
      [1, 2].map(() => services.deliveries.replayMany(agent, id, { which: "failed", since })),
    );
    expect(answers.map(({ replayed }) => replayed).toSorted((one, other) => one - other)).toEqual([0, 50]);
  });

  it("replays in batches and notifies the workers after each", async () => {
    const { agent, id, uuid } = await createAgentWithEndpoint(services);
    await services.database.query(sql`
      insert into webhook_delivery (id, endpoint_id, event_id, event_type, status, finished_at, attempts)
      select ${uuidV7Sql}, ${uuid}, ${uuidV7Sql}, 'job.updated', 'failed', now(), 10 from generate_series(1, 20000)`);
    const announced = services.workerNotifications.count;
    expect(
      await services.deliveries.replayMany(agent, id, {
        which: "failed",
        since: new Date(Date.now() - HOUR_MS),
      }),
    ).toMatchObject({ replayed: 20_000 });
    expect(services.workerNotifications.count - announced).toBe(10);
  });
});

describe("replayMissing", () => {
  it("delivers visible events of the endpoint's types that it never had a delivery of", async () => {
    const { agent, id } = await createAgentWithEndpoint(services, ["job.created"]);
    const contractor = await services.createOrganization("contractor");
    await services.createJob(agent);
    const outsider = await services.createOrganization("agent");
    await services.createJob(outsider, contractor);
    await services.createJob(agent, contractor);
    expect(await replayCount(agent, id, { which: "missing" })).toBe(0);

    const { endpoint: late } = await services.endpoints.create(agent, {
      url: UNREACHABLE_URL,
      eventTypes: ["job.created"],
    });
    const { endpoint: all } = await services.endpoints.create(agent, { url: UNREACHABLE_URL });
    const { endpoint: theirs } = await services.endpoints.create(contractor, { url: UNREACHABLE_URL });
    expect(await replayCount(agent, late.id, { which: "missing" })).toBe(2);
    expect(await replayCount(agent, late.id, { which: "missing" })).toBe(0);
    expect(await replayCount(agent, all.id, { which: "missing" })).toBe(3);
    expect(await replayCount(contractor, theirs.id, { which: "missing" })).toBe(2);
    const { items } = await services.deliveries.list(agent, { filter: { endpointId: late.id }, limit: 10 });
    expect(items).toMatchObject([
      { origin: "replay", eventType: "job.created", status: "pending" },
      { origin: "replay", eventType: "job.created", status: "pending" },
    ]);
    expect(items[0]!.markingNumber).not.toBeNull();
  });

  it("starts at the given time, but not before the start of the log", async () => {
    const { agent } = await createAgentWithEndpoint(services);
    const { endpoint } = await services.endpoints.create(agent, { url: UNREACHABLE_URL });
    const uuid = fromTypedId("whe", endpoint.id);
    await services.createJobs(agent, 3);
    await services.database.query(sql`delete from webhook_delivery where endpoint_id = ${uuid}`);
    const old = async (ageMs: number): Promise<void> => {
      await services.database.query(sql`
        insert into job_event (id, type, job_id, agent_id, sequence, actor_type, changes, job)
        select ${newUuid(Date.now() - ageMs)}, 'job.updated', job_id, agent_id, ${Math.round(ageMs / 1_000)}, 'system', '{}', job
        from job_event where agent_id = ${agent.organizationId} limit 1`);
    };
    await old(2 * HOUR_MS);
    await old(29 * DAY_MS);
    await old(31 * DAY_MS);
    const since = new Date(Date.now() - HOUR_MS);
    expect(await replayCount(agent, endpoint.id, { which: "missing", since })).toBe(3);
    expect(await replayCount(agent, endpoint.id, { which: "missing" })).toBe(2);
  });
});

describe("a replay of a time range", () => {
  it("includes its start and excludes its end", async () => {
    const { agent, id, uuid } = await createAgentWithEndpoint(services);
    const finishedAt = async (text: string): Promise<void> => {
      await services.createJobs(agent, 1);
      await services.database.query(sql`
        update webhook_delivery set status = 'failed', attempts = 1, outcome = 'http_500', finished_at = ${text}
        where endpoint_id = ${uuid} and status = 'pending'`);
    };
    const [start, middle, end] = [3, 2, 1].map((hours) => new Date(Date.now() - hours * HOUR_MS));
    for (const time of [start, middle, end]) await finishedAt(time!.toISOString());
    const range = { which: "failed", since: start, until: end } as const;
    expect(await replayCount(agent, id, range)).toBe(2);
    expect(await replayCount(agent, id, { which: "failed" })).toBe(1);
  });

  it("of missing events selects them by the time of the event", async () => {
    const { agent, id, uuid } = await createAgentWithEndpoint(services);
    await services.createJobs(agent, 3);
    await services.database.query(sql`delete from webhook_delivery where endpoint_id = ${uuid}`);
    const before = { which: "missing", until: new Date(Date.now() - HOUR_MS) } as const;
    expect(await services.deliveries.replayMany(agent, id, before)).toMatchObject({
      replayed: 0,
      cursor: null,
    });
    const around = { which: "missing", until: new Date(Date.now() + HOUR_MS) } as const;
    expect(await replayCount(agent, id, around)).toBe(3);
  });

  it("is rejected if it is empty", async () => {
    const [range, message] = [{ since: new Date(2), until: new Date(1) }, "until must be after since"];
    const { agent, id } = await createAgentWithEndpoint(services);
    const replay = services.deliveries.replayMany(agent, id, { which: "failed", ...range });
    await expect(replay).rejects.toMatchObject({ code: "BadRequestException", message });
    const list = services.deliveries.list(agent, { filter: range, limit: 1 });
    await expect(list).rejects.toMatchObject({ code: "BadRequestException", message });
  });
});

describe("the cursor of a replay", () => {
  it("lists exactly the new deliveries, in pages, in any later status and with further filters", async () => {
    const { agent, id, uuid } = await createAgentWithEndpoint(services);
    const other = await services.endpoints.create(agent, { url: UNREACHABLE_URL });
    await services.createJobs(agent, 5);
    await finishPendingDeliveries(services, uuid, "failed");
    const { cursor } = await services.deliveries.replayMany(agent, id, { which: "failed" });
    const replays = await services.listDeliveries(sql`endpoint_id = ${uuid} and origin = 'replay'`);
    expect(replays).toHaveLength(5);
    // Neither later events nor later replays belong to it.
    await services.createJobs(agent, 2);
    await finishPendingDeliveries(services, uuid, "failed", { count: 2 });
    await services.deliveries.replayMany(agent, other.endpoint.id, { which: "missing" });

    const listed: string[] = [];
    for (let next = cursor; next !== null;) {
      const page = await services.deliveries.list(agent, { filter: {}, limit: 2, cursor: next });
      listed.push(...page.items.map((item) => fromTypedId("dlv", item.id) as string));
      next = page.nextCursor;
    }
    expect(listed).toEqual(replays.map((row) => row.id).toReversed());
    const failed = await services.deliveries.list(agent, {
      filter: { status: "failed" },
      limit: 10,
      cursor: cursor ?? "",
    });
    expect(failed.items).toHaveLength(2);
  });

  it("lists nothing for another organisation", async () => {
    const { agent, id } = await createAgentWithFailed(services, 1);
    const { agent: outsider } = await createAgentWithEndpoint(services);
    const { cursor } = await services.deliveries.replayMany(agent, id, { which: "failed" });
    const page = await services.deliveries.list(outsider, { filter: {}, limit: 10, cursor: cursor ?? "" });
    expect(page).toMatchObject({ items: [], nextCursor: null });
  });
});

describe("in the transaction of the caller", () => {
  it("a replay is undone with it, and wakes the workers only after the commit", async () => {
    const { agent, id, uuid } = await createAgentWithFailed(services, 3);
    const before = services.workerNotifications.count;
    const replay = (end: "commit" | "rollback") =>
      services.database.transaction(async (tx) => {
        const result = await services.deliveries.replayMany(agent, id, { which: "failed" }, { tx });
        expect(services.workerNotifications.count).toBe(before);
        return result;
      }, end);
    expect(await replay("rollback")).toMatchObject({ replayed: 3 });
    expect(await services.listDeliveries(sql`endpoint_id = ${uuid} and origin = 'replay'`)).toEqual([]);
    expect(await replay("commit")).toMatchObject({ replayed: 3 });
    expect(services.workerNotifications.count).toBeGreaterThan(before);
  });

  it("a delivery can be replayed twice", async () => {
    const { agent, id, list } = await createAgentWithEndpoint(services);
    await services.createJobs(agent, 1);
    const [delivery] = await list();
    const again = await services.database.transaction(async (tx) => {
      const first = await services.deliveries.replay(agent, delivery!.id, { tx });
      return await services.deliveries.replay(agent, first.id, { tx });
    });
    expect(again).toMatchObject({ endpointId: id, origin: "replay", status: "pending" });
    expect((await list()).map(({ status }) => status).toSorted()).toEqual([
      "discarded",
      "discarded",
      "pending",
    ]);
  });
});
