/** Creating and updating endpoints, and isolation between organisations. */
import { beforeAll, describe, expect, it } from "vitest";
import { AppError, type Problem } from "../../../src/core/errors.ts";
import { newUuid, toTypedId, uuidV7Sql } from "../../../src/core/ids.ts";
import type { OrganizationPrincipal } from "../../../src/core/principal.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { systemPrincipal } from "../../../src/webhooks/webhook-principal.ts";
import { headersByName } from "../../../src/webhooks/endpoints/custom-headers.ts";
import { WebhookEndpoint } from "../../../src/webhooks/endpoints/entity.ts";
import { MAX_ENDPOINTS } from "../../../src/webhooks/endpoints/service.ts";
import type { EndpointSettings } from "../../../src/webhooks/endpoints/validation.ts";
import { UNREACHABLE_URL, createEndpointFor, endpointUuid } from "../../support/webhooks/endpoint.fixture.ts";
import { openTransaction, waitForBlockedSessions } from "../../support/database/blocked-sessions.ts";
import { answersTo, useWebhookServices } from "../../support/webhooks/service.fixture.ts";

const services = useWebhookServices();
let agent: OrganizationPrincipal;
let contractor: OrganizationPrincipal;

beforeAll(async () => {
  agent = await services.createOrganization("agent");
  contractor = await services.createOrganization("contractor");
});

/** The problems of a rejection by field, and its full text. */
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
  it("creates an active endpoint for all events and returns its secret", async () => {
    const { endpoint, secret } = await services.endpoints.create(agent, { url: UNREACHABLE_URL });
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(endpoint).toMatchObject({
      id: expect.stringMatching(/^whe_/),
      organizationId: toTypedId("org", agent.organizationId),
      url: UNREACHABLE_URL,
      description: "",
      eventTypes: null,
      headers: [],
      maxInFlight: 8,
      perSecond: 50,
      status: "active",
      disabledReason: null,
      blockedUntil: null,
      isCircuitOpen: false,
      failingSince: null,
      pending: 0,
      problem: null,
      previousSecretsExpireAt: [],
      createdBy: "operator",
    });
    expect(JSON.stringify(endpoint)).not.toContain(secret);
    expect(await services.endpoints.get(agent, endpoint.id)).toEqual(endpoint);
  });

  it("accepts all settings and records the creator", async () => {
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
      headers: [{ name: "X-Token", value: "********" }],
      maxInFlight: 64,
      perSecond: 1,
      createdBy: toTypedId("key", key.id),
    });
  });

  it("stores secrets and headers encrypted", async () => {
    const { endpoint, secret } = await services.endpoints.create(agent, {
      url: UNREACHABLE_URL,
      headers: { "X-Token": "s3cr3t" },
    });
    const [row] = await services.database.query<{ json: string }>(
      sql`select to_jsonb(webhook_endpoint)::text as json from webhook_endpoint where id = ${endpointUuid(endpoint.id)}`,
    );
    expect(row?.json).not.toContain(secret.slice(6));
    expect(row?.json).not.toMatch(/s3cr3t|X-Token/);
  });

  it("reports every problem and repeats no value that can be secret", async () => {
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
      "event_types[0]": 'must be "job.created", or another of the known types',
      "event_types[1]":
        "must be one of job.created, job.updated, job.status_changed, job.assigned, job.unassigned, job.deleted",
      "headers.X-Token": expect.stringContaining("printable ASCII"),
      "headers[1]": expect.stringContaining("must have a name"),
      "headers[2]": expect.stringContaining("host is reserved"),
      "headers[3]": expect.stringContaining("webhook-id is reserved"),
      "headers.x-a": "is given twice",
      max_in_flight: "must be a whole number from 1 to 64",
      per_second: "must be a whole number from 1 to 1000",
    });
  });

  it("rejects a URL whose encoded form is too long", async () => {
    const url = `https://example.com/${"é".repeat(1_000)}`;
    const { problems } = await problemsOf(services.endpoints.create(agent, { url }));
    expect(Object.keys(problems)).toEqual(["url"]);
  });

  it("keeps the value of a header that is sent back masked, under any case, and rejects a mask without a value", async () => {
    const { id } = (
      await services.endpoints.create(agent, {
        url: UNREACHABLE_URL,
        headers: { "X-Token": "s3cr3t", "X-Other": "o" },
      })
    ).endpoint;
    const { headers, description } = await services.endpoints.get(agent, id);
    await services.endpoints.update(agent, id, {
      headers: { ...headersByName(headers), "X-Other": "new" },
      description,
    });
    const revealed = async () => (await services.endpoints.reveal(agent, id)).headers;
    expect(await revealed()).toEqual({ "X-Token": "s3cr3t", "X-Other": "new" });
    await services.endpoints.update(agent, id, { headers: { "x-token": "********" } });
    expect(await revealed()).toEqual({ "x-token": "s3cr3t" });

    const masked = { headers: { "X-Unknown": "********" } };
    const problem = { field: "headers.X-Unknown", message: expect.stringContaining("send the value") };
    const refused = { code: "BadRequestException", details: [expect.objectContaining(problem)] };
    await expect(services.endpoints.update(agent, id, masked)).rejects.toMatchObject(refused);
    await expect(services.endpoints.create(agent, { url: UNREACHABLE_URL, ...masked })).rejects.toMatchObject(
      refused,
    );
    expect(await revealed()).toEqual({ "x-token": "s3cr3t" });
  });

  it("rejects more than 20 headers and an empty list of event types", async () => {
    const headers = Object.fromEntries(Array.from({ length: 21 }, (_, at) => [`X-${at}`, "1"]));
    const { problems } = await problemsOf(
      services.endpoints.create(agent, { url: UNREACHABLE_URL, headers, eventTypes: [] }),
    );
    expect(problems).toEqual({
      headers: "must be at most 20 headers",
      event_types: "must name at least one type, or be null for all",
    });
  });

  // evidence: endpoint-limit
  it("rejects a 51st endpoint; deleted ones do not count", async () => {
    const owner = await services.createOrganization("agent");
    const ids: string[] = [];
    for (let at = 0; at < MAX_ENDPOINTS.live; at += 1) ids.push(await createEndpointFor(services, owner));
    await expect(createEndpointFor(services, owner)).rejects.toMatchObject({
      code: "ConflictException",
      message: expect.stringContaining("at most 50"),
    });
    await services.endpoints.delete(owner, ids[0] as string);
    await createEndpointFor(services, owner);
  });

  // evidence: endpoint-limit-concurrent
  it("creates no endpoint beyond the limit when several are created at once", async () => {
    const owner = await services.createOrganization("agent");
    for (let at = 0; at < MAX_ENDPOINTS.live - 1; at += 1) await createEndpointFor(services, owner);
    // The locked organisation row keeps every creation from committing before the others have counted.
    const held = await openTransaction(
      services.database,
      sql`select from organization where id = ${owner.organizationId} for update`,
    );
    const creating = Promise.allSettled(Array.from({ length: 3 }, () => createEndpointFor(services, owner)));
    await waitForBlockedSessions(services.database, 3);
    await held.commit();
    const created = await creating;
    expect(created.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(await services.endpoints.list(owner)).toHaveLength(MAX_ENDPOINTS.live);
  });
});

describe("update", () => {
  it("changes only the given settings; null selects all event types", async () => {
    const id = await createEndpointFor(services, agent, {
      description: "one",
      eventTypes: ["job.created"],
      headers: { "X-A": "1" },
    });
    expect(await services.endpoints.update(agent, id, { description: "two" })).toMatchObject({
      description: "two",
      eventTypes: ["job.created"],
      headers: [{ name: "X-A", value: "********" }],
    });
    expect(
      await services.endpoints.update(agent, id, { eventTypes: null, headers: {}, perSecond: 10 }),
    ).toMatchObject({
      eventTypes: null,
      headers: [],
      perSecond: 10,
      description: "two",
      url: UNREACHABLE_URL,
    });
  });

  it("raises the version only for settings that affect sending", async () => {
    const id = await createEndpointFor(services, agent);
    const versionAfter = async (settings: EndpointSettings): Promise<number> => {
      await services.endpoints.update(agent, id, settings);
      const [row] = await services.database.query<{ version: number }>(
        sql`select version from webhook_endpoint where id = ${endpointUuid(id)}`,
      );
      return row?.version ?? 0;
    };
    expect(await versionAfter({ description: "x", eventTypes: ["job.created"] })).toBe(1);
    expect(await versionAfter({ url: `${UNREACHABLE_URL}/2` })).toBe(2);
    expect(await versionAfter({ headers: { "X-A": "1" } })).toBe(3);
    expect(await versionAfter({ maxInFlight: 1 })).toBe(4);
    expect(await versionAfter({ perSecond: 1 })).toBe(5);
  });

  it("resets the delivery state if the URL changes", async () => {
    const id = await createEndpointFor(services, agent);
    await services.database.query(sql`
      update webhook_endpoint set circuit_step = 3, blocked_until = now() + interval '15 min', failing_since = now()
      where id = ${endpointUuid(id)}`);
    expect(await services.endpoints.update(agent, id, { url: UNREACHABLE_URL })).toMatchObject({
      isCircuitOpen: true,
    });
    expect(await services.endpoints.update(agent, id, { url: `${UNREACHABLE_URL}/new` })).toMatchObject({
      isCircuitOpen: false,
      blockedUntil: null,
      failingSince: null,
    });
  });

  it("rejects invalid settings and then changes nothing", async () => {
    const id = await createEndpointFor(services, agent);
    await problemsOf(services.endpoints.update(agent, id, { description: "x", perSecond: 1_001 }));
    expect(await services.endpoints.get(agent, id)).toMatchObject({ description: "", perSecond: 50 });
  });
});

describe("an organisation", () => {
  // evidence: endpoints-isolated-per-organization
  it("gets NotFoundException for endpoints of another organisation", async () => {
    const id = await createEndpointFor(services, agent);
    const before = await services.endpoints.get(agent, id);
    const { endpoints } = services;
    const attempts = (whose: string) => [
      () => endpoints.get(contractor, whose),
      () => endpoints.update(contractor, whose, { description: "mine" }),
      // Validation problems must not reveal that the endpoint exists.
      () => endpoints.update(contractor, whose, { perSecond: -1 }),
      () => endpoints.pause(contractor, whose),
      () => endpoints.resume(contractor, whose, { pendingPolicy: "discard" }),
      () => endpoints.delete(contractor, whose),
      () => endpoints.rotateSecret(contractor, whose),
      () => endpoints.reveal(contractor, whose),
    ];
    const another = await answersTo(attempts(id));
    expect(another).toEqual(await answersTo(attempts(toTypedId("whe", newUuid()))));
    expect(another).toEqual(await answersTo(attempts("whe_nonsense")));
    expect(new Set(another).size).toBe(1);
    expect(await endpoints.find(contractor, id)).toBeNull();
    expect((await endpoints.list(contractor, { organizationId: agent.organizationId })).length).toBe(0);
    expect(await endpoints.get(agent, id)).toEqual(before);
  });

  it("does not limit operators, who can select live or test organisations, or one with its test organisations", async () => {
    const [live, test] = [
      await services.createOrganization("agent"),
      await services.createOrganization("agent"),
    ];
    await services.database.query(
      sql`update organization set live_organization_id = ${live.organizationId} where id = ${test.organizationId}`,
    );
    const ids = [await createEndpointFor(services, live), await createEndpointFor(services, test)];
    for (const id of ids)
      await services.database.query(sql`
        insert into webhook_delivery (id, endpoint_id, event_id, event_type, due_at)
        values (${uuidV7Sql}, ${endpointUuid(id)}, ${newUuid()}, 'job.updated', now())`);
    const { organizationId } = live;
    const selections = [{}, { mode: "live" }, { mode: "test" }, { organizationId, mode: "live" }] as const;
    const more = [{ organizationId, mode: "test" }, { organizationId }] as const;
    const listed = await Promise.all(
      [...selections, ...more].map(async (selection) => {
        const views = await services.endpoints.list(systemPrincipal, selection);
        return views.filter(({ id }) => ids.includes(id)).map(({ id, mode }) => `${ids.indexOf(id)} ${mode}`);
      }),
    );
    const both = ["0 live", "1 test"];
    expect(listed).toEqual([both, ["0 live"], ["1 test"], ["0 live"], ["1 test"], both]);
    const endpointsOfDeliveries = await Promise.all(
      [...selections, ...more].map(async (filter) => {
        const { items } = await services.deliveries.list(systemPrincipal, { filter, limit: 200 });
        const found = new Set(items.map(({ endpointId }) => endpointId));
        return ids.flatMap((id, index) => (found.has(id) ? [index] : []));
      }),
    );
    expect(endpointsOfDeliveries).toEqual([[0, 1], [0], [1], [0], [1], [0, 1]]);
  });

  it("must be named in each read with the entity manager", async () => {
    const read = services.database.em().find(WebhookEndpoint, {});
    await expect(read).rejects.toThrow("No arguments provided for filter 'endpointVisibility'");
  });
});
