/** The end of an outage of a receiver: a test event that succeeds, and "Retry now". No scheduler runs, so nothing else wakes retries. */
import { afterAll, describe, expect, it } from "vitest";
import { fromTypedId, newUuid } from "../../src/core/ids.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import { startTestApp, type TestApp, type TestOrganization } from "../support/app/app.fixture.ts";
import { expectData, expectFailure } from "../support/app/assertions.ts";
import { eventually } from "../support/eventually.ts";
import { startTestReceiver, type TestReceiver } from "../support/webhooks/receiver.ts";

const app = await startTestApp({ WEBHOOK_ALLOW_PRIVATE: "on", RATE_LIMITS: "on" });
afterAll(() => app[Symbol.asyncDispose]());

interface Outage extends AsyncDisposable {
  owner: TestOrganization;
  /** Typed id of the endpoint. */
  id: string;
  receiver: TestReceiver;
  answer: { status: number };
  post: (action: string, options?: { headers: Record<string, string> }) => ReturnType<TestApp["call"]>;
}

interface OutageOptions {
  waiting?: number;
  isCircuitOpen?: boolean;
  status?: "active" | "paused" | "disabled";
}

/** An endpoint whose deliveries failed and wait an hour for a retry. The receiver works again. */
async function afterOutage({
  waiting = 3,
  isCircuitOpen = true,
  status = "active",
}: OutageOptions = {}): Promise<Outage> {
  const owner = await app.createOrganization("agent");
  const answer = { status: 200 };
  const receiver = await startTestReceiver({ respond: () => answer });
  const post = (path: string, options: object = {}) =>
    app.call(`/v1/webhook-endpoints${path}`, { key: owner.key, method: "POST", ...options });
  const { endpoint } = (await post("", { body: JSON.stringify({ url: receiver.url }) })).body.data as {
    endpoint: { id: string };
  };
  const uuid = fromTypedId("whe", endpoint.id) ?? "";
  await app.database.query(sql`
    update webhook_endpoint set failing_since = now() - interval '1 h', status = ${status},
      circuit_step = ${isCircuitOpen ? 5 : null}, blocked_until = now() + interval '15 min' where id = ${uuid}`);
  await app.createJobs(owner, waiting);
  await app.database.query(sql`
    update webhook_delivery set attempts = 3, due_at = now() + interval '1 h' where endpoint_id = ${uuid}`);
  return {
    owner,
    id: endpoint.id,
    receiver,
    answer,
    post: (action, options) => post(`/${endpoint.id}/${action}`, options),
    [Symbol.asyncDispose]: () => receiver[Symbol.asyncDispose](),
  };
}

const endpointOf = async ({ id, owner }: Outage): Promise<Record<string, unknown>> =>
  expectData(await app.call(`/v1/webhook-endpoints/${id}`, { key: owner.key })) as Record<string, unknown>;

/** The numbers of attempts of the endpoint's deliveries by status. */
const deliveriesOf = ({ id }: Outage): Promise<{ status: string; attempts: number; count: number }[]> =>
  app.database.query(sql`
    select status, attempts, count(*)::int as count from webhook_delivery
    where endpoint_id = ${fromTypedId("whe", id)} and origin <> 'test' group by 1, 2 order by 1, 2`);

const recovered = { is_circuit_open: false, blocked_until: null, failing_since: null };

describe("POST /v1/webhook-endpoints/{id}/test", () => {
  it("200: a success closes the circuit and sends what waits, new deliveries and retries", async () => {
    await using outage = await afterOutage();
    await app.createJobs(outage.owner, [{}]);
    expect((await outage.post("test")).body.data).toMatchObject({ outcome: "delivered" });
    expect(await endpointOf(outage)).toMatchObject(recovered);
    await eventually(async () =>
      expect(await deliveriesOf(outage)).toEqual([
        { status: "delivered", attempts: 1, count: 1 },
        { status: "delivered", attempts: 4, count: 3 },
      ]),
    );
  });

  it.each([
    ["a failed test event", { status: 500 }, {}],
    ["a success while the endpoint is paused", { status: 200 }, { status: "paused" }],
  ] as const)("200: changes nothing after %s", async (_name, answer, options) => {
    await using outage = await afterOutage(options);
    Object.assign(outage.answer, answer);
    const before = await endpointOf(outage);
    expect((await outage.post("test")).status).toBe(201);
    expect(await endpointOf(outage)).toEqual(before);
    expect(await deliveriesOf(outage)).toEqual([{ status: "pending", attempts: 3, count: 3 }]);
  });
});

describe("POST /v1/webhook-endpoints/{id}/retry", () => {
  it("200: an open circuit sends one delivery, then the others, and the audit log has the retry", async () => {
    await using outage = await afterOutage({ waiting: 20 });
    expect(expectData(await outage.post("retry"))).toMatchObject({
      retried: 20,
      endpoint: { id: outage.id },
    });
    await eventually(async () =>
      expect(await deliveriesOf(outage)).toEqual([{ status: "delivered", attempts: 4, count: 20 }]),
    );
    expect(await endpointOf(outage)).toMatchObject(recovered);
    const entries = await app.database.query(sql`
      select action, subject, details ->> 'retried' as retried from audit_entry
      where organization_id = ${outage.owner.id} order by id desc limit 1`);
    expect(entries).toEqual([{ action: "endpoint.retried", subject: outage.id, retried: "20" }]);
  });

  it("200: while the receiver fails, uses up one attempt, and the probes start again at one minute", async () => {
    await using outage = await afterOutage();
    outage.answer.status = 500;
    expectData(await outage.post("retry"));
    await eventually(async () =>
      expect(await deliveriesOf(outage)).toEqual([
        { status: "pending", attempts: 3, count: 2 },
        { status: "pending", attempts: 4, count: 1 },
      ]),
    );
    await eventually(async () => {
      const { is_circuit_open: isOpen, blocked_until: until } = await endpointOf(outage);
      const seconds = (Date.parse(String(until)) - Date.now()) / 1_000;
      expect([isOpen, seconds > 0 && seconds <= 60]).toEqual([true, true]);
    });
  });

  it("200: without an open circuit, ends the wait that the receiver asked for", async () => {
    await using outage = await afterOutage({ isCircuitOpen: false });
    expect(expectData(await outage.post("retry"))).toMatchObject({ endpoint: { blocked_until: null } });
    await eventually(async () =>
      expect(await deliveriesOf(outage)).toEqual([{ status: "delivered", attempts: 4, count: 3 }]),
    );
  });

  it("200: makes every retry due, in more than one batch, but none that is in flight", async () => {
    await using outage = await afterOutage({ waiting: 0 });
    outage.answer.status = 500;
    const uuid = fromTypedId("whe", outage.id);
    await app.database.query(sql`
      insert into webhook_delivery (id, endpoint_id, event_id, event_type, attempts, lease_token, due_at)
      select gen_random_uuid(), ${uuid}, gen_random_uuid(), 'job.updated', 3,
        case when number = 1 then ${newUuid()}::uuid end, now() + interval '1 h' from generate_series(1, 4001) number`);
    expect(expectData(await outage.post("retry"))).toMatchObject({ retried: 4_000 });
  });

  it("429: a second time within a minute, because each retry uses up an attempt", async () => {
    await using outage = await afterOutage();
    outage.answer.status = 500;
    expectData(await outage.post("retry"));
    const refused = await outage.post("retry");
    expectFailure(refused, 429, /were retried within the last minute. Try again in (?:60|5\d) s/);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(50);
    const uuid = fromTypedId("whe", outage.id);
    await app.database.query(
      sql`update webhook_endpoint set retried_at = retried_at - interval '1 min' where id = ${uuid}`,
    );
    expectData(await outage.post("retry"));
  });

  it("200: a repeated Idempotency-Key returns the first answer, and retries nothing", async () => {
    await using outage = await afterOutage();
    outage.answer.status = 500;
    const headers = { "idempotency-key": "now" };
    const first = await outage.post("retry", { headers });
    expect(expectData(first)).toMatchObject({ retried: 3 });
    const repeated = await outage.post("retry", { headers });
    expect([repeated.headers.get("idempotency-replayed"), repeated.body.data]).toEqual([
      "true",
      first.body.data,
    ]);
    expectFailure(await outage.post("retry", { headers: { "idempotency-key": "again" } }), 429);
    await eventually(async () =>
      expect(await deliveriesOf(outage)).toEqual([
        { status: "pending", attempts: 3, count: 2 },
        { status: "pending", attempts: 4, count: 1 },
      ]),
    );
  });

  it.each(["paused", "disabled"] as const)("409: a %s endpoint stays as it is", async (status) => {
    await using outage = await afterOutage({ status });
    const before = await endpointOf(outage);
    const message = `The endpoint is ${status}, so nothing is sent to it. Resume it instead.`;
    expectFailure(await outage.post("retry"), 409, message);
    expect(await endpointOf(outage)).toEqual(before);
    expect(await deliveriesOf(outage)).toEqual([{ status: "pending", attempts: 3, count: 3 }]);
  });
});
