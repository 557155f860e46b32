import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AppError, type Problem } from "../../src/platform/errors.ts";
import { fromTypedId, newUuid, toTypedId } from "../../src/platform/ids.ts";
import type { Principal } from "../../src/platform/principal.ts";
import { sql } from "../../src/platform/sql.ts";
import { operator } from "../../src/webhooks/caller.ts";
import { MAX_ENDPOINTS } from "../../src/webhooks/endpoint.service.ts";
import type { EndpointSettings } from "../../src/webhooks/endpoint.checks.ts";
import { DAY_MS, HOUR_MS } from "../support/fake-clock.ts";
import { openWebhookServices, type WebhookServices } from "../support/webhook-services.ts";

const URL = "http://127.0.0.1:9/webhooks";

let services: WebhookServices;
let agent: Principal;
let contractor: Principal;

beforeAll(async () => {
  services = await openWebhookServices();
  agent = await services.partner("agent");
  contractor = await services.partner("contractor");
});

afterAll(() => services[Symbol.asyncDispose]());

async function endpointOf(owner: Principal, settings: EndpointSettings = {}): Promise<string> {
  const { endpoint } = await services.endpoints.create(owner, { ...settings, url: URL });
  return endpoint.id;
}

const uuidOf = (id: string): string => fromTypedId("whe", id) as string;

/** The fields and messages of a refusal, and everything that it says. */
async function problemsOf(
  attempt: Promise<unknown>,
): Promise<{ problems: Record<string, string>; said: string }> {
  const error = await attempt.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof AppError)) throw new Error("It was not refused as it should", { cause: error });
  expect(error.code).toBe("BadRequestException");
  const problems = error.details as Problem[];
  return {
    problems: Object.fromEntries(problems.map(({ field, message }) => [field, message])),
    said: JSON.stringify([error.message, error.details]),
  };
}

describe("create", () => {
  it("makes an active endpoint for all events, and tells its secret this once", async () => {
    const { endpoint, secret } = await services.endpoints.create(agent, { url: URL });
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(endpoint).toMatchObject({
      id: expect.stringMatching(/^whe_/),
      organizationId: toTypedId("org", agent.organizationId),
      url: URL,
      description: "",
      eventTypes: null,
      headers: {},
      maxInFlight: 8,
      perSecond: 50,
      status: "active",
      disabledReason: null,
      blockedUntil: null,
      isCircuitOpen: false,
      failingSince: null,
      waiting: 0,
      problem: null,
      formerSecretsUntil: [],
      createdBy: "operator",
    });
    expect(JSON.stringify(endpoint)).not.toContain(secret);
    expect(await services.endpoints.get(agent, endpoint.id)).toEqual(endpoint);
  });

  it("takes everything that an owner may set, and says who made it", async () => {
    const key = { type: "key", id: newUuid() } as const;
    const { endpoint } = await services.endpoints.create(
      { ...agent, actor: key },
      {
        url: "https://[2606:4700::1111]/hooks?a=1#part",
        description: "Dispatch office",
        eventTypes: ["job.created", "job.created", "job.assigned"],
        headers: { "X-Token": "s3cr3t" },
        maxInFlight: 64,
        perSecond: 1,
      },
    );
    expect(endpoint).toMatchObject({
      url: "https://[2606:4700::1111]/hooks?a=1",
      description: "Dispatch office",
      eventTypes: ["job.created", "job.assigned"],
      headers: { "X-Token": "********" },
      maxInFlight: 64,
      perSecond: 1,
      createdBy: toTypedId("key", key.id),
    });
  });

  it("stores no secret and no header as text", async () => {
    const { endpoint, secret } = await services.endpoints.create(agent, {
      url: URL,
      headers: { "X-Token": "s3cr3t" },
    });
    const [row] = await services.database.query<{ json: string }>(
      sql`select to_jsonb(webhook_endpoint)::text as json from webhook_endpoint where id = ${uuidOf(endpoint.id)}`,
    );
    expect(row?.json).not.toContain(secret.slice(6));
    expect(row?.json).not.toMatch(/s3cr3t|X-Token/);
  });

  it("tells every problem with what would be right, and repeats no value that may be secret", async () => {
    const { problems, said } = await problemsOf(
      services.endpoints.create(agent, {
        url: "ftp://user:hunter2@example.com",
        description: "x".repeat(501),
        eventTypes: ["job.create", "everything"],
        headers: {
          "X-Token": "hunter2\r\nHost: other",
          "hunter2 hunter2": "x",
          Host: "hunter2",
          "webhook-id": "1",
          "X-A": "1",
          "x-a": "2",
        },
        maxInFlight: 0,
        perSecond: 1.5,
      }),
    );
    expect(said).not.toContain("hunter2");
    expect(problems).toEqual({
      url: expect.stringContaining("must begin with https://"),
      description: "must be at most 500 characters long",
      "eventTypes[0]": 'must be "job.created", or another of the known types',
      "eventTypes[1]": "must be one of job.created, job.updated, job.status_changed, job.assigned",
      "headers.X-Token": expect.stringContaining("printable ASCII"),
      "headers[1]": expect.stringContaining("must have a name"),
      "headers[2]": expect.stringContaining("host belongs to the delivery itself"),
      "headers[3]": expect.stringContaining("webhook-id belongs"),
      "headers.x-a": "is given twice",
      maxInFlight: "must be a whole number from 1 to 64",
      perSecond: "must be a whole number from 1 to 1000",
    });
  });

  it.each([
    ["http://169.254.169.254/latest", "url"],
    [`https://example.com/${"x".repeat(2_048)}`, "url"],
    ["not a url", "url"],
  ])("refuses the URL %.40s", async (url, field) => {
    const { problems } = await problemsOf(services.endpoints.create(agent, { url }));
    expect(Object.keys(problems)).toEqual([field]);
  });

  it("refuses more than 20 headers, and no event type at all", async () => {
    const headers = Object.fromEntries(Array.from({ length: 21 }, (_, at) => [`X-${at}`, "1"]));
    const { problems } = await problemsOf(
      services.endpoints.create(agent, { url: URL, headers, eventTypes: [] }),
    );
    expect(problems).toEqual({
      headers: "must be at most 20 headers",
      eventTypes: "must name at least one type, or be null for all",
    });
  });

  it("refuses one more than an organisation may have; a deleted one makes room", async () => {
    const owner = await services.partner("agent");
    const ids: string[] = [];
    for (let at = 0; at < MAX_ENDPOINTS; at += 1) ids.push(await endpointOf(owner));
    await expect(endpointOf(owner)).rejects.toMatchObject({
      code: "ConflictException",
      message: expect.stringContaining("at most 50"),
    });
    await services.endpoints.delete(owner, ids[0] as string);
    await endpointOf(owner);
  });
});

describe("update", () => {
  it("changes what is given and leaves the rest; null means all event types", async () => {
    const id = await endpointOf(agent, {
      description: "one",
      eventTypes: ["job.created"],
      headers: { "X-A": "1" },
    });
    expect(await services.endpoints.update(agent, id, { description: "two" })).toMatchObject({
      description: "two",
      eventTypes: ["job.created"],
      headers: { "X-A": "********" },
    });
    expect(
      await services.endpoints.update(agent, id, { eventTypes: null, headers: {}, perSecond: 10 }),
    ).toMatchObject({ eventTypes: null, headers: {}, perSecond: 10, description: "two", url: URL });
  });

  it("raises the version where senders must know, and only there", async () => {
    const id = await endpointOf(agent);
    const versionAfter = async (settings: EndpointSettings): Promise<number> => {
      await services.endpoints.update(agent, id, settings);
      const [row] = await services.database.query<{ version: number }>(
        sql`select version from webhook_endpoint where id = ${uuidOf(id)}`,
      );
      return row?.version ?? 0;
    };
    expect(await versionAfter({ description: "x", eventTypes: ["job.created"] })).toBe(1);
    expect(await versionAfter({ url: `${URL}/2` })).toBe(2);
    expect(await versionAfter({ headers: { "X-A": "1" } })).toBe(3);
    expect(await versionAfter({ maxInFlight: 1 })).toBe(4);
    expect(await versionAfter({ perSecond: 1 })).toBe(5);
  });

  it("forgets how the former address did, once there is another", async () => {
    const id = await endpointOf(agent);
    await services.database.query(sql`
      update webhook_endpoint set circuit_step = 3, blocked_until = now() + interval '15 min', failing_since = now()
      where id = ${uuidOf(id)}`);
    expect(await services.endpoints.update(agent, id, { url: URL })).toMatchObject({ isCircuitOpen: true });
    expect(await services.endpoints.update(agent, id, { url: `${URL}/new` })).toMatchObject({
      isCircuitOpen: false,
      blockedUntil: null,
      failingSince: null,
    });
  });

  it("refuses what cannot be set, and changes nothing then", async () => {
    const id = await endpointOf(agent);
    await problemsOf(services.endpoints.update(agent, id, { description: "x", perSecond: 1_001 }));
    expect(await services.endpoints.get(agent, id)).toMatchObject({ description: "", perSecond: 50 });
  });
});

/** Three deliveries wait: an hour old, being sent, and new. */
async function withWaiting(status: "paused" | "disabled" | "active") {
  const owner = await services.partner("agent");
  const id = await endpointOf(owner);
  await services.database.query(sql`
    update webhook_endpoint set status = ${status}, disabled_reason = ${status === "disabled" ? "gone" : null},
      circuit_step = 2, blocked_until = now() + interval '1 h', failing_since = now(),
      status_since = now() - interval '1 d'
    where id = ${uuidOf(id)}`);
  const insert = (ageMs: number, more: { attempts: number; leased: boolean }) =>
    services.database.query(sql`
      insert into webhook_delivery (id, endpoint_id, event_id, event_type, attempts, lease_token, due_at)
      values (${newUuid(Date.now() - ageMs)}, ${uuidOf(id)}, ${newUuid()}, 'job.updated', ${more.attempts},
        ${more.leased ? newUuid() : null}, now() + interval '30 s')`);
  await insert(HOUR_MS, { attempts: 3, leased: false });
  await insert(HOUR_MS, { attempts: 1, leased: true });
  await insert(1_000, { attempts: 0, leased: false });
  const statuses = async () =>
    (await services.rows(sql`endpoint_id = ${uuidOf(id)}`)).map((row) => row.status);
  return { owner, id, statuses };
}

describe("pause, resume and delete", () => {
  it("pauses an active one; its events wait", async () => {
    const owner = await services.partner("agent");
    const id = await endpointOf(owner);
    expect(await services.endpoints.pause(owner, id)).toMatchObject({ status: "paused", waiting: 0 });
    await services.job(owner);
    expect(await services.endpoints.get(owner, id)).toMatchObject({ waiting: 1 });
  });

  it("leaves one that is disabled as it is when it is paused", async () => {
    const { owner, id } = await withWaiting("disabled");
    expect(await services.endpoints.pause(owner, id)).toMatchObject({
      status: "disabled",
      disabledReason: "gone",
    });
  });

  it("resumes with what waited, the circuit closed, and tells the workers", async () => {
    const { owner, id, statuses } = await withWaiting("disabled");
    const before = services.announced.count;
    const { endpoint, discarded } = await services.endpoints.resume(owner, id);
    expect(discarded).toBe(0);
    expect(endpoint).toMatchObject({
      status: "active",
      disabledReason: null,
      blockedUntil: null,
      isCircuitOpen: false,
      failingSince: null,
      waiting: 3,
    });
    expect(Date.parse(endpoint.statusSince)).toBeGreaterThan(Date.now() - HOUR_MS);
    expect(await statuses()).toEqual(["pending", "pending", "pending"]);
    expect(services.announced.count).toBe(before + 1);
  });

  it("resumes without what waited, but for what is being sent at that moment", async () => {
    const { owner, id, statuses } = await withWaiting("paused");
    const { endpoint, discarded } = await services.endpoints.resume(owner, id, { held: "discard" });
    expect(discarded).toBe(2);
    expect(endpoint).toMatchObject({ status: "active", waiting: 1 });
    expect((await statuses()).toSorted()).toEqual(["discarded", "discarded", "pending"]);
  });

  it("resumes with what happened since a time", async () => {
    const { owner, id } = await withWaiting("paused");
    const since = new Date(Date.now() - HOUR_MS / 2);
    const { endpoint, discarded } = await services.endpoints.resume(owner, id, { held: { since } });
    expect(discarded).toBe(1);
    expect(endpoint.waiting).toBe(2);
  });

  it("discards nothing of an active one, whose circuit it closes", async () => {
    const { owner, id } = await withWaiting("active");
    const { statusSince } = await services.endpoints.get(owner, id);
    const { endpoint, discarded } = await services.endpoints.resume(owner, id, { held: "discard" });
    expect(discarded).toBe(0);
    expect(endpoint).toMatchObject({ isCircuitOpen: false, waiting: 3, statusSince });
  });

  it("deletes: it is gone, what waited is discarded, its log stays, and no event goes there any more", async () => {
    const { owner, id, statuses } = await withWaiting("active");
    expect(await services.endpoints.delete(owner, id)).toEqual({ discarded: 3 });
    await expect(services.endpoints.get(owner, id)).rejects.toMatchObject({ code: "NotFoundException" });
    expect(await services.endpoints.list(owner)).toEqual([]);
    await services.job(owner);
    expect(await statuses()).toEqual(["discarded", "discarded", "discarded"]);
    expect((await services.deliveries.list(owner, { filter: {}, limit: 10 })).items).toHaveLength(3);
    await expect(services.endpoints.delete(owner, id)).rejects.toMatchObject({ code: "NotFoundException" });
  });

  it("discards although workers move the same rows meanwhile", async () => {
    const owner = await services.partner("agent");
    const id = await endpointOf(owner);
    await services.endpoints.pause(owner, id);
    await services.jobs(owner, 3_000);
    const finishing = (async () => {
      for (let round = 0; round < 20; round += 1) {
        await services.database
          .query(sql`
            update webhook_delivery set status = 'delivered', finished_at = now()
            where status = 'pending' and id in (select id from webhook_delivery
              where endpoint_id = ${uuidOf(id)} and status = 'pending' order by id desc limit 50)`)
          .catch(() => undefined);
      }
    })();
    const { discarded } = await services.endpoints.resume(owner, id, { held: "discard" });
    await finishing;
    const rows = await services.rows(sql`endpoint_id = ${uuidOf(id)}`);
    expect(rows).toHaveLength(3_000);
    expect(rows.filter(({ status }) => status === "pending")).toEqual([]);
    expect(rows.filter(({ status }) => status === "discarded")).toHaveLength(discarded);
  });
});

describe("secrets", () => {
  it("are revealed to their owner, with the headers", async () => {
    const { endpoint, secret } = await services.endpoints.create(agent, {
      url: URL,
      headers: { "X-Token": "s3cr3t" },
    });
    expect(await services.endpoints.reveal(agent, endpoint.id)).toEqual({
      secrets: [secret],
      headers: { "X-Token": "s3cr3t" },
    });
  });

  it("sign beside their successors for 24 hours, at most two of them", async () => {
    const { endpoint, secret: first } = await services.endpoints.create(agent, { url: URL });
    const second = await services.endpoints.rotateSecret(agent, endpoint.id);
    expect(second.endpoint.formerSecretsUntil).toEqual([
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
    expect((await services.endpoints.get(agent, endpoint.id)).formerSecretsUntil).toEqual([]);
  });

  it("lose none of two rotations at once", async () => {
    const { endpoint, secret } = await services.endpoints.create(agent, { url: URL });
    const rotated = await Promise.all([1, 2].map(() => services.endpoints.rotateSecret(agent, endpoint.id)));
    const { secrets } = await services.endpoints.reveal(agent, endpoint.id);
    expect(new Set(secrets)).toEqual(new Set([secret, ...rotated.map((one) => one.secret)]));
  });

  it("that cannot be read are said to be so, and the endpoint is shown all the same", async () => {
    const owner = await services.partner("agent");
    const [one, other] = [await endpointOf(owner), await endpointOf(owner)];
    await services.database.query(sql`
      update webhook_endpoint set secrets = (select secrets from webhook_endpoint where id = ${uuidOf(one)})
      where id = ${uuidOf(other)}`);
    expect(await services.endpoints.list(owner)).toMatchObject([
      { id: one, problem: null },
      { id: other, problem: expect.stringContaining("was sealed with another WAYMARK_SECRET") },
    ]);
    await services.endpoints.rotateSecret(owner, other);
  });
});

describe("an organisation", () => {
  it("sees and changes its own endpoints alone; another's answer as what is not there", async () => {
    const id = await endpointOf(agent);
    const before = await services.endpoints.get(agent, id);
    const { endpoints } = services;
    const attempts = (whose: string) => [
      () => endpoints.get(contractor, whose),
      () => endpoints.update(contractor, whose, { description: "mine" }),
      // What is wrong with the change does not show that there is something to change.
      () => endpoints.update(contractor, whose, { perSecond: -1 }),
      () => endpoints.pause(contractor, whose),
      () => endpoints.resume(contractor, whose, { held: "discard" }),
      () => endpoints.delete(contractor, whose),
      () => endpoints.rotateSecret(contractor, whose),
      () => endpoints.reveal(contractor, whose),
    ];
    const answers = async (whose: string) =>
      await Promise.all(
        attempts(whose).map((attempt) =>
          attempt().then(
            () => "done",
            (error: unknown) => {
              const { code, message, details } = error as AppError;
              return JSON.stringify({ code, message, details });
            },
          ),
        ),
      );
    const another = await answers(id);
    expect(another).toEqual(await answers(toTypedId("whe", newUuid())));
    expect(another).toEqual(await answers("whe_nonsense"));
    expect(new Set(another).size).toBe(1);
    expect(await endpoints.find(contractor, id)).toBeNull();
    expect((await endpoints.list(contractor, agent.organizationId)).length).toBe(0);
    expect(await endpoints.get(agent, id)).toEqual(before);
  });

  it("is no bound to an operator, who sees all, or one's", async () => {
    const owner = await services.partner("agent");
    const id = await endpointOf(owner);
    expect(await services.endpoints.list(operator, owner.organizationId)).toMatchObject([{ id }]);
    expect((await services.endpoints.list(operator)).map((one) => one.id)).toContain(id);
    expect(await services.endpoints.pause(operator, id)).toMatchObject({ status: "paused" });
  });
});

describe("disableFailing", () => {
  interface Failure {
    eventId?: string;
    agoMs: number;
    outcome?: string;
    origin?: "event" | "replay" | "test";
    /** Over when it failed, unless it is pending. */
    status?: "pending" | "delivered" | "dead" | "discarded";
  }

  async function failing(sinceMs: number | null, failures: readonly Failure[]): Promise<string> {
    const id = await endpointOf(await services.partner("agent"));
    if (sinceMs !== null) {
      const since = new Date(services.clock.now() - sinceMs);
      await services.database.query(
        sql`update webhook_endpoint set failing_since = ${since} where id = ${uuidOf(id)}`,
      );
    }
    for (const one of failures) {
      const { eventId = newUuid(), agoMs, outcome = "http_500", origin = "event", status = "pending" } = one;
      const at = new Date(services.clock.now() - agoMs);
      const delivery = newUuid(at.getTime());
      await services.database.query(sql`
        insert into webhook_delivery (id, endpoint_id, event_id, event_type, attempts, origin, status, finished_at)
        values (${delivery}, ${uuidOf(id)}, ${eventId}, 'job.updated', 1, ${origin}, ${status},
          ${status === "pending" ? null : at})`);
      await services.database.query(sql`
        insert into webhook_attempt (id, delivery_id, number, started_at, duration_ms, outcome, request_headers)
        values (${newUuid()}, ${delivery}, 1, ${at}, 10, ${outcome}, '{}')`);
    }
    return id;
  }

  it("disables what has only failed for five days, with two events that failed twelve hours apart", async () => {
    const event = newUuid();
    const far = [{ agoMs: 6 * DAY_MS }, { agoMs: 5 * DAY_MS }];
    const [long, short, one, near, one2, tests, never] = [
      await failing(6 * DAY_MS, far),
      await failing(5 * DAY_MS - HOUR_MS, far),
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
    const disabled = await services.endpoints.disableFailing();
    expect(disabled.map(({ id }) => id).toSorted()).toEqual([long, mixed].toSorted());
    expect(disabled[0]).toMatchObject({ status: "disabled", disabledReason: "failing" });
    for (const id of [short, one, near, one2, tests, never])
      expect(await services.endpoints.get(operator, id)).toMatchObject({ status: "active" });
    expect(await services.endpoints.disableFailing()).toEqual([]);
  });

  it("looks at what is over as well as at what waits", async () => {
    const ids = [
      await failing(6 * DAY_MS, [
        { agoMs: 6 * DAY_MS, status: "dead" },
        { agoMs: 5 * DAY_MS, status: "discarded" },
      ]),
      await failing(6 * DAY_MS, [{ agoMs: 6 * DAY_MS, status: "delivered" }, { agoMs: 5 * DAY_MS }]),
    ];
    const disabled = await services.endpoints.disableFailing();
    expect(disabled.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
  });
});
