/** Pausing, resuming, deleting and disabling endpoints, and rotating their secrets. */
import { beforeAll, describe, expect, it } from "vitest";
import { newUuid } from "../../../src/core/ids.ts";
import type { OrganizationPrincipal } from "../../../src/core/principal.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { systemPrincipal } from "../../../src/webhooks/webhook-principal.ts";
import { DAY_MS, HOUR_MS } from "../../support/fake-clock.ts";
import { UNREACHABLE_URL, createEndpointFor, endpointUuid } from "../../support/webhooks/endpoint.fixture.ts";
import { useWebhookServices } from "../../support/webhooks/service.fixture.ts";

const services = useWebhookServices();
let agent: OrganizationPrincipal;

beforeAll(async () => {
  agent = await services.createOrganization("agent");
});

/** Creates three pending deliveries: one an hour old, one in flight and a new one. */
async function withWaiting(status: "paused" | "disabled" | "active") {
  const owner = await services.createOrganization("agent");
  const id = await createEndpointFor(services, owner);
  await services.database.query(sql`
    update webhook_endpoint set status = ${status}, disabled_reason = ${status === "disabled" ? "gone" : null},
      circuit_step = 2, blocked_until = now() + interval '1 h', failing_since = now(),
      status_since = now() - interval '1 d'
    where id = ${endpointUuid(id)}`);
  const insert = (ageMs: number, more: { attempts: number; leased: boolean }) =>
    services.database.query(sql`
      insert into webhook_delivery (id, endpoint_id, event_id, event_type, attempts, lease_token, due_at)
      values (${newUuid(Date.now() - ageMs)}, ${endpointUuid(id)}, ${newUuid()}, 'job.updated', ${more.attempts},
        ${more.leased ? newUuid() : null}, now() + interval '30 s')`);
  await insert(HOUR_MS, { attempts: 3, leased: false });
  await insert(HOUR_MS, { attempts: 1, leased: true });
  await insert(1_000, { attempts: 0, leased: false });
  const statuses = async () =>
    (await services.listDeliveries(sql`endpoint_id = ${endpointUuid(id)}`)).map((row) => row.status);
  return { owner, id, statuses };
}

describe("pause, resume and delete", () => {
  it("pauses an active endpoint and puts its deliveries on hold", async () => {
    const owner = await services.createOrganization("agent");
    const id = await createEndpointFor(services, owner);
    expect(await services.endpoints.pause(owner, id)).toMatchObject({ status: "paused", pending: 0 });
    await services.createJob(owner);
    expect(await services.endpoints.get(owner, id)).toMatchObject({ pending: 1 });
  });

  it("does not change a disabled endpoint on pause", async () => {
    const { owner, id } = await withWaiting("disabled");
    expect(await services.endpoints.pause(owner, id)).toMatchObject({
      status: "disabled",
      disabledReason: "gone",
    });
  });

  it("resumes with the deliveries on hold, closes the circuit and notifies the workers", async () => {
    const { owner, id, statuses } = await withWaiting("disabled");
    const before = services.workerNotifications.count;
    const { endpoint, discarded } = await services.endpoints.resume(owner, id);
    expect(discarded).toBe(0);
    expect(endpoint).toMatchObject({
      status: "active",
      disabledReason: null,
      blockedUntil: null,
      isCircuitOpen: false,
      failingSince: null,
      pending: 3,
    });
    expect(Date.parse(endpoint.statusSince)).toBeGreaterThan(Date.now() - HOUR_MS);
    expect(await statuses()).toEqual(["pending", "pending", "pending"]);
    expect(services.workerNotifications.count).toBe(before + 1);
  });

  // Of three pending deliveries, one is new and one is in flight.
  it.each([
    ["paused", "discard", 2],
    ["paused", "since", 1],
    ["active", "discard", 0],
  ] as const)(
    "resumes a %s endpoint with the policy %s, which discards %i",
    async (status, policy, count) => {
      const { owner, id, statuses } = await withWaiting(status);
      const { statusSince } = await services.endpoints.get(owner, id);
      const pendingPolicy = policy === "discard" ? policy : { since: new Date(Date.now() - HOUR_MS / 2) };
      const { endpoint, discarded } = await services.endpoints.resume(owner, id, { pendingPolicy });
      expect(endpoint).toMatchObject({ status: "active", isCircuitOpen: false, pending: 3 - count });
      expect(endpoint.statusSince === statusSince).toBe(status === "active");
      expect([discarded, (await statuses()).filter((one) => one === "discarded").length]).toEqual([
        count,
        count,
      ]);
    },
  );

  it("deletes an endpoint, discards its pending deliveries and keeps its log", async () => {
    const { owner, id, statuses } = await withWaiting("active");
    expect(await services.endpoints.delete(owner, id)).toEqual({ discarded: 3 });
    await expect(services.endpoints.get(owner, id)).rejects.toMatchObject({ code: "NotFoundException" });
    expect(await services.endpoints.list(owner)).toEqual([]);
    const [row] = await services.database.query(sql`
      select secrets from webhook_endpoint where id = ${endpointUuid(id)}`);
    expect(row).toEqual({ secrets: [] });
    await services.createJob(owner);
    expect(await statuses()).toEqual(["discarded", "discarded", "discarded"]);
    expect((await services.deliveries.list(owner, { filter: {}, limit: 10 })).items).toHaveLength(3);
    await expect(services.endpoints.delete(owner, id)).rejects.toMatchObject({ code: "NotFoundException" });
  });

  it("discards deliveries while workers move the same rows", async () => {
    const owner = await services.createOrganization("agent");
    const id = await createEndpointFor(services, owner);
    await services.endpoints.pause(owner, id);
    await services.createJobs(owner, 3_000);
    const finishing = (async () => {
      for (let round = 0; round < 20; round += 1) {
        await services.database
          .query(sql`
            update webhook_delivery set status = 'delivered', finished_at = now()
            where status = 'pending' and id in (select id from webhook_delivery
              where endpoint_id = ${endpointUuid(id)} and status = 'pending' order by id desc limit 50)`)
          .catch(() => undefined);
      }
    })();
    const { discarded } = await services.endpoints.resume(owner, id, { pendingPolicy: "discard" });
    await finishing;
    const rows = await services.listDeliveries(sql`endpoint_id = ${endpointUuid(id)}`);
    expect(rows).toHaveLength(3_000);
    expect(rows.filter(({ status }) => status === "pending")).toEqual([]);
    expect(rows.filter(({ status }) => status === "discarded")).toHaveLength(discarded);
  });
});

describe("secrets", () => {
  it("stay active for 24 hours after a rotation, at most two of them", async () => {
    const { endpoint, secret: first } = await services.endpoints.create(agent, { url: UNREACHABLE_URL });
    const second = await services.endpoints.rotateSecret(agent, endpoint.id);
    expect(second.endpoint.previousSecretsExpireAt).toEqual([
      new Date(services.clock.now() + DAY_MS).toISOString(),
    ]);
    const third = await services.endpoints.rotateSecret(agent, endpoint.id);
    const fourth = await services.endpoints.rotateSecret(agent, endpoint.id);
    expect((await services.endpoints.reveal(agent, endpoint.id)).secrets).toEqual([
      fourth.secret,
      third.secret,
      second.secret,
    ]);
    expect(first).not.toBe(second.secret);
    services.clock.advance(DAY_MS + 1);
    expect((await services.endpoints.reveal(agent, endpoint.id)).secrets).toEqual([fourth.secret]);
    expect((await services.endpoints.get(agent, endpoint.id)).previousSecretsExpireAt).toEqual([]);
  });

  it("survive concurrent rotations", async () => {
    const { endpoint, secret } = await services.endpoints.create(agent, { url: UNREACHABLE_URL });
    const rotated = await Promise.all([1, 2].map(() => services.endpoints.rotateSecret(agent, endpoint.id)));
    const { secrets } = await services.endpoints.reveal(agent, endpoint.id);
    expect(new Set(secrets)).toEqual(new Set([secret, ...rotated.map((one) => one.secret)]));
  });

  it("that cannot be decrypted are reported in the endpoint's problem", async () => {
    const owner = await services.createOrganization("agent");
    const [one, other] = [await createEndpointFor(services, owner), await createEndpointFor(services, owner)];
    await services.database.query(sql`
      update webhook_endpoint set secrets = (select secrets from webhook_endpoint where id = ${endpointUuid(one)})
      where id = ${endpointUuid(other)}`);
    expect(await services.endpoints.list(owner)).toMatchObject([
      { id: one, problem: null },
      {
        id: other,
        problem: `The signing secret of ${other} was encrypted with another WAYMARK_SECRET or is damaged. Rotate it.`,
      },
    ]);
    await services.endpoints.rotateSecret(owner, other);
  });
});

describe("disableFailing", () => {
  interface Failure {
    eventId?: string;
    agoMs: number;
    outcome?: string;
    origin?: "event" | "replay" | "test";
    /** A finished delivery ended when it failed. */
    status?: "pending" | "delivered" | "failed" | "discarded";
  }

  async function failing(sinceMs: number | null, failures: readonly Failure[]): Promise<string> {
    const id = await createEndpointFor(services, await services.createOrganization("agent"));
    if (sinceMs !== null) {
      const since = new Date(services.clock.now() - sinceMs);
      await services.database.query(
        sql`update webhook_endpoint set failing_since = ${since} where id = ${endpointUuid(id)}`,
      );
    }
    for (const one of failures) {
      const { eventId = newUuid(), agoMs, outcome = "http_500", origin = "event", status = "pending" } = one;
      const at = new Date(services.clock.now() - agoMs);
      const delivery = newUuid(at.getTime());
      await services.database.query(sql`
        insert into webhook_delivery (id, endpoint_id, event_id, event_type, attempts, origin, status, finished_at)
        values (${delivery}, ${endpointUuid(id)}, ${eventId}, 'job.updated', 1, ${origin}, ${status},
          ${status === "pending" ? null : at})`);
      await services.database.query(sql`
        insert into webhook_attempt (id, delivery_id, number, started_at, duration_ms, outcome, request_headers)
        values (${newUuid()}, ${delivery}, 1, ${at}, 10, ${outcome}, '{}')`);
    }
    return id;
  }

  it("disables endpoints that have only failed for five days, with two events failing 12 hours apart", async () => {
    const event = newUuid();
    const far = [{ agoMs: 6 * DAY_MS }, { agoMs: 5 * DAY_MS }];
    const [long, short, one, near, one2, tests, never] = [
      await failing(6 * DAY_MS, far),
      await failing(5 * DAY_MS - HOUR_MS, [{ agoMs: 5 * DAY_MS - HOUR_MS }, { agoMs: 4 * DAY_MS }]),
      await failing(6 * DAY_MS, [{ agoMs: 6 * DAY_MS }]),
      await failing(6 * DAY_MS, [{ agoMs: 6 * DAY_MS }, { agoMs: 6 * DAY_MS - 11 * HOUR_MS }]),
      await failing(6 * DAY_MS, [
        { agoMs: 6 * DAY_MS, eventId: event },
        { agoMs: 3 * DAY_MS, eventId: event },
      ]),
      await failing(6 * DAY_MS, [
        { agoMs: 6 * DAY_MS, origin: "test" },
        { agoMs: 3 * DAY_MS, origin: "test" },
      ]),
      await failing(null, far),
    ];
    const mixed = await failing(6 * DAY_MS, [
      { agoMs: 6 * DAY_MS, eventId: event },
      { agoMs: 2 * DAY_MS },
      { agoMs: DAY_MS, eventId: event },
    ]);
    const disabled = await services.endpoints.disableFailing("live");
    expect(disabled.map(({ id }) => id).toSorted()).toEqual([long, mixed].toSorted());
    expect(await services.endpoints.get(systemPrincipal, long)).toMatchObject({
      status: "disabled",
      disabledReason: "failing",
    });
    for (const id of [short, one, near, one2, tests, never])
      expect(await services.endpoints.get(systemPrincipal, id)).toMatchObject({ status: "active" });
    expect(await services.endpoints.disableFailing("live")).toEqual([]);
  });

  // evidence: clock-ahead-endpoints-stay-enabled
  it("uses PostgreSQL's clock, so that a process with a wrong clock disables nothing", async () => {
    const id = await failing(14 * HOUR_MS, [{ agoMs: 14 * HOUR_MS }, { agoMs: HOUR_MS }]);
    services.clock.jump(6 * DAY_MS);
    const disabled = await services.endpoints.disableFailing("live");
    services.clock.jump(-6 * DAY_MS);
    expect(disabled).toEqual([]);
    expect(await services.endpoints.get(systemPrincipal, id)).toMatchObject({ status: "active" });
  });

  it("considers finished and pending deliveries", async () => {
    const ids = [
      await failing(6 * DAY_MS, [
        { agoMs: 6 * DAY_MS, status: "failed" },
        { agoMs: 5 * DAY_MS, status: "discarded" },
      ]),
      await failing(6 * DAY_MS, [{ agoMs: 6 * DAY_MS, status: "delivered" }, { agoMs: 5 * DAY_MS }]),
    ];
    const disabled = await services.endpoints.disableFailing("live");
    expect(disabled.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
  });
});
