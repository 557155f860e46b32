/** The actions of webhook endpoints have the same effects and refusals in REST and GraphQL. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newUuid } from "../../src/core/ids.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import { startTestApp, type TestApp } from "../support/app/app.fixture.ts";
import { expectSameData, expectSameEffect, expectSameRefusal, runBoth } from "../support/app/parity.ts";
import {
  createEndpoint,
  ENDPOINT_FIELDS,
  pause,
  remove,
  resume,
  rotate,
  sendTest,
  updateEndpoint,
  type WebhookAction as Action,
} from "../support/webhooks/webhook-parity.actions.ts";
import { startTestReceiver } from "../support/webhooks/receiver.ts";
import {
  changeEndpointRow,
  inRestForm,
  PUBLIC_URL,
  setUpWebhooks,
  type WebhookSetUp,
} from "../support/webhooks/webhook-parity.fixture.ts";

let app: TestApp;
/** Accepts URLs of this machine. */
let local: TestApp;

beforeAll(async () => {
  app = await startTestApp({ RATE_LIMITS: "on", WEBHOOK_ALLOW_PRIVATE: "off", WAYMARK_ROLE: "api" });
  local = await startTestApp({ WEBHOOK_ALLOW_PRIVATE: "on", WAYMARK_ROLE: "api" });
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await local[Symbol.asyncDispose]();
});

const setUp = (options?: WebhookSetUp) => () => setUpWebhooks(app, options);
const create = (settings: object, input: object = settings, options?: WebhookSetUp) =>
  createEndpoint(setUp(options), settings, input);
const update = (patch: object, graphqlPatch: object = patch, options?: WebhookSetUp) =>
  updateEndpoint(setUp(options), patch, graphqlPatch);

/** Expects the same effect, and the same data in the response. */
async function expectSameResult(action: Action, on: TestApp = app) {
  const both = await expectSameEffect(on, action);
  const [payload] = Object.values(both.graphql.response.data as Record<string, object>);
  const { userErrors: _, ...data } = payload as { userErrors: unknown; endpoint?: object };
  // PATCH and pause return the endpoint itself, and the test its delivery.
  const members = Object.values(data);
  const shown = members.length === 1 ? members[0] : data;
  expectSameData(both.rest.response.body.data, inRestForm(shown));
  return both;
}

const UNKNOWN: WebhookSetUp = { target: "unknown" };
const FOREIGN: WebhookSetUp = { target: "another organisation's" };
const WITHOUT_JOBS: WebhookSetUp = { scopes: ["webhooks:manage"] };

describe("creating an endpoint", () => {
  it("stores the same row and audit entry, with all settings", async () => {
    const common = {
      url: `${PUBLIC_URL}/x#part`,
      description: "Dispatch",
      headers: [{ name: "X-A", value: "1" }],
    };
    const { rest } = await expectSameResult(
      create(
        { ...common, event_types: ["job.created"], max_in_flight: 2, per_second: 3 },
        { ...common, eventTypes: ["JOB_CREATED"], maxInFlight: 2, perSecond: 3 },
      ),
    );
    expect(rest.response.status).toBe(201);
    expect(rest.stored["audit_entry"]).toMatchObject([{ action: "endpoint.created" }, {}]);
  });

  it("treats null as absent", async () => {
    const nulls = { url: PUBLIC_URL, description: null, headers: null };
    await expectSameResult(
      create(
        { ...nulls, event_types: null, max_in_flight: null, per_second: null },
        { ...nulls, eventTypes: null, maxInFlight: null, perSecond: null },
      ),
    );
  });

  const longText = "x".repeat(501);
  it.each<[string, object, object?]>([
    ["a URL without https", { url: "ftp://partner.example/hook" }],
    ["a URL that is none", { url: "partner" }],
    ["a private IP address", { url: "https://10.0.0.5/hook" }],
    ["a user name in the URL", { url: "https://user:secret@93.184.216.34/" }],
    ["the same header twice", { url: PUBLIC_URL, headers: [header("X-A"), header("X-A")] }],
    ["the same header in another case", { url: PUBLIC_URL, headers: [header("X-A"), header("x-a")] }],
    ["a reserved header", { url: PUBLIC_URL, headers: [header("Host")] }],
    [
      "too many headers",
      { url: PUBLIC_URL, headers: Array.from({ length: 21 }, (_, at) => header(`X-${at}`)) },
    ],
    ["no event type", { url: PUBLIC_URL, event_types: [] }, { url: PUBLIC_URL, eventTypes: [] }],
    ["a number out of range", { url: PUBLIC_URL, max_in_flight: 65 }, { url: PUBLIC_URL, maxInFlight: 65 }],
    [
      "several problems",
      { url: "x", description: longText, per_second: 0 },
      { url: "x", description: longText, perSecond: 0 },
    ],
  ])("400 is for the same reason: %s", async (_what, settings, input) => {
    await expectSameRefusal(app, create(settings, input), "invalid");
  });

  it("409 is for the same reason: too many endpoints", async () => {
    const full: Action = {
      ...create({ url: PUBLIC_URL }),
      async setUp() {
        const fixture = await setUpWebhooks(app);
        for (let count = 1; count < 50; count += 1)
          await app.database.query(sql`
            insert into webhook_endpoint (id, organization_id, url, secrets, created_by)
            select ${newUuid()}, organization_id, url, secrets, created_by from webhook_endpoint where id = ${fixture.uuid}`);
        return fixture;
      },
    };
    const { rest } = await expectSameRefusal(app, full, "limit_exceeded");
    expect(rest.response.status).toBe(409);
    expect(rest.stored["webhook_endpoint"]).toHaveLength(50);
  });
});

describe("reading endpoints", () => {
  const list: Action = {
    setUp: setUp({ jobs: 1, settings: { headers: { "X-A": "1" }, eventTypes: ["job.created"] } }),
    rest: () => ({ path: "/v1/webhook-endpoints" }),
    graphql: () => ({ document: `{ webhookEndpoints { ${ENDPOINT_FIELDS} } }` }),
  };

  it("lists the same endpoints", async () => {
    const { rest, graphql } = await expectSameEffect(app, list);
    expectSameData(rest.response.body.data.items, inRestForm(graphql.response.data.webhookEndpoints));
    expect(rest.response.body.data.items).toMatchObject([{ pending: 1 }]);
  });

  it("returns the same endpoint", async () => {
    const { rest, graphql } = await expectSameEffect(app, {
      ...list,
      rest: ({ endpoint }) => ({ path: `/v1/webhook-endpoints/${endpoint}` }),
      graphql: ({ endpoint: id }) => ({
        document: `query ($id: ID!) { webhookEndpoint(id: $id) { ${ENDPOINT_FIELDS} } }`,
        variables: { id },
      }),
    });
    expectSameData(rest.response.body.data, inRestForm(graphql.response.data.webhookEndpoint));
  });
});

describe("updating an endpoint", () => {
  it("stores the same row: settings", async () => {
    await expectSameResult(
      update(
        { description: "new", event_types: ["job.assigned"], max_in_flight: 5 },
        { description: "new", eventTypes: ["JOB_ASSIGNED"], maxInFlight: 5 },
      ),
    );
  });

  it("stores the same row: null clears, and absent members stay", async () => {
    const settings = {
      description: "old",
      headers: { "X-A": "1" },
      eventTypes: ["job.created"],
      perSecond: 7,
    };
    const cleared = { description: null, headers: null };
    const { rest } = await expectSameResult(
      update({ ...cleared, event_types: null }, { ...cleared, eventTypes: null }, { settings }),
    );
    expect(rest.response.body.data).toMatchObject({
      description: "",
      headers: [],
      event_types: null,
      per_second: 7,
    });
  });

  it("stores the same row and audit entry: a new URL", async () => {
    const { rest } = await expectSameResult(update({ url: "https://1.1.1.1/new" }));
    expect(rest.stored["audit_entry"]).toContainEqual(
      expect.objectContaining({ action: "endpoint.url_changed" }),
    );
  });

  it("changes other settings without jobs:read", async () => {
    await expectSameResult(update({ description: "new" }, { description: "new" }, WITHOUT_JOBS));
  });

  it.each<[string, string, Action]>([
    ["400", "null for the URL", update({ url: null })],
    ["400", "a number out of range", update({ per_second: 1001 }, { perSecond: 1001 })],
    ["400", "a private IP address", update({ url: "https://[::1]/" })],
    ["403", "a new URL without jobs:read", update({ url: PUBLIC_URL }, { url: PUBLIC_URL }, WITHOUT_JOBS)],
    ["404", "an unknown endpoint", update({ description: "x" }, { description: "x" }, UNKNOWN)],
    ["404", "another organisation's endpoint", update({ description: "x" }, { description: "x" }, FOREIGN)],
  ])("%s is for the same reason: %s", async (status, _what, action) => {
    const code = { 400: "invalid", 403: "forbidden", 404: "not_found" }[status] ?? "";
    const { rest } = await expectSameRefusal(app, action, code);
    expect(String(rest.response.status)).toBe(status);
  });
});

const withState =
  (state: "paused" | "disabled" | "unreadable", options: WebhookSetUp = {}) =>
  async () => {
    const fixture = await setUpWebhooks(app, options);
    await changeEndpointRow(app, fixture, state);
    return fixture;
  };

/** Without what differs between two attempts. */
const comparable = (delivery: { attempts: object[] }) => ({
  ...delivery,
  attempts: delivery.attempts.map((attempt) => ({
    ...attempt,
    duration_ms: 0,
    request_headers: [],
    response_headers: [],
  })),
});

describe("the other actions", () => {
  const SINCE = "2020-01-01T00:00:00.000Z";

  it.each<[string, Action]>([
    ["delete, with deliveries to discard", remove(setUp({ jobs: 1 }))],
    ["rotate the secret", rotate(setUp())],
    ["pause", pause(setUp())],
    ["pause a disabled endpoint", pause(withState("disabled"))],
    ["resume and send", resume(withState("paused", { jobs: 1 }))],
    [
      "resume and discard",
      resume(withState("disabled", { jobs: 1 }), { pending: "discard" }, ", pendingPolicy: DISCARD"),
    ],
    [
      "resume and send since a time",
      resume(
        withState("paused", { jobs: 1 }),
        { since: SINCE },
        `, pendingPolicy: SEND_SINCE, since: "${SINCE}"`,
      ),
    ],
    ["resume an active endpoint", resume(setUp({ jobs: 1 }), { pending: "send" }, ", pendingPolicy: SEND")],
  ])("have the same effect: %s", async (_what, action) => {
    await expectSameResult(action);
  });

  it("have the same effect: send a test event", async () => {
    await using receiver = await startTestReceiver();
    const settings = { url: receiver.url };
    const { rest, graphql } = await expectSameEffect(
      local,
      sendTest(() => setUpWebhooks(local, { settings, scopes: ["webhooks:manage"] })),
    );
    const { delivery } = graphql.response.data.sendTestEvent;
    expectSameData(
      comparable(rest.response.body.data),
      comparable(inRestForm(delivery) as { attempts: object[] }),
    );
    expect(rest.response.body.data).toMatchObject({ status: "delivered", attempts: [{ http_status: 200 }] });
    expect(receiver.received).toHaveLength(2);
  });

  const actions = {
    delete: remove,
    rotate,
    pause,
    resume,
    test: sendTest,
  };
  const refused = Object.entries(actions).flatMap(([name, action]) =>
    [UNKNOWN, FOREIGN].map((options): [string, string | undefined, Action] => [
      name,
      options.target,
      action(setUp(options)),
    ]),
  );
  it.each(refused)("404 is for the same reason: %s, %s endpoint", async (_name, _target, action) => {
    const { rest } = await expectSameRefusal(app, action, "not_found");
    expect(rest.response.status).toBe(404);
  });

  it("404 is for the same reason: a deleted endpoint", async () => {
    const deleted = async () => {
      const fixture = await setUpWebhooks(app);
      await app.database.query(
        sql`update webhook_endpoint set deleted_at = now() where id = ${fixture.uuid}`,
      );
      return fixture;
    };
    await expectSameRefusal(app, pause(deleted), "not_found");
  });

  it("409 is for the same reason: a test with a secret that cannot be read", async () => {
    const { rest, graphql } = await expectSameRefusal(app, sendTest(withState("unreadable")), "conflict");
    expect(rest.response.status).toBe(409);
    for (const { refusal, fixture } of [rest, graphql])
      expect(refusal?.messages).toEqual([
        `The signing secret of ${fixture.endpoint} was encrypted with another WAYMARK_SECRET or is damaged. Rotate it.`,
      ]);
  });

  it("400 for a time that does not fit, with each interface's own names", async () => {
    const args = `, pendingPolicy: DISCARD, since: "${SINCE}"`;
    const both = await runBoth(app, resume(withState("paused"), { pending: "discard", since: SINCE }, args));
    expect([both.rest.refusal?.code, both.graphql.refusal?.code]).toEqual(["invalid", "invalid"]);
    expect(both.rest.stored).toEqual(both.graphql.stored);
  });
});

function header(name: string): { name: string; value: string } {
  return { name, value: "1" };
}
