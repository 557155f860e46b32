/** The limit on bulk replays to endpoints that are created and deleted repeatedly. */
import { expect, it, onTestFinished } from "vitest";
import { sql } from "../../../src/core/postgres/sql.ts";
import { defaultReplayRate } from "../../../src/webhooks/deliveries/replay-limit.ts";
import { UNREACHABLE_URL } from "../../support/webhooks/endpoint.fixture.ts";
import { openWebhookServiceFixture } from "../../support/webhooks/service.fixture.ts";

/** The services with this limit, and an agent with 2,500 jobs. */
async function openLimited(burst: number) {
  const services = await openWebhookServiceFixture({ replayRate: { perSecond: 1_000, burst } });
  onTestFinished(() => services[Symbol.asyncDispose]());
  const agent = await services.createOrganization("agent");
  await services.createJobs(agent, 2_500);
  return { services, agent };
}

// evidence: replay-limit-per-organization
it("limits the deliveries per organisation, even if it deletes the endpoints", async () => {
  const { services, agent } = await openLimited(4_000);
  const other = await services.createOrganization("agent");
  await services.createJobs(other, 1);
  const replayToNew = async (owner: typeof agent): Promise<unknown> => {
    const { endpoint } = await services.endpoints.create(owner, { url: UNREACHABLE_URL });
    const replayed = services.deliveries.replayMany(owner, endpoint.id, { which: "missing" });
    const outcome = await replayed.catch((error: unknown) => error);
    await services.endpoints.delete(owner, endpoint.id);
    return outcome;
  };
  expect(await replayToNew(agent)).toMatchObject({ replayed: 2_500 });
  expect(await replayToNew(agent)).toMatchObject({
    code: "TooManyRequestsException",
    message: expect.stringMatching(/^An organisation can replay 4000 deliveries, then 1000 per second/),
    headers: { "Retry-After": "1" },
  });
  expect(await replayToNew(other)).toMatchObject({ replayed: 1 });
  services.clock.advance(1_500);
  expect(await replayToNew(agent)).toMatchObject({ replayed: 2_000, hasMore: true });
  const [row] = await services.database.query<{ count: number }>(
    sql`select count(*)::int from webhook_delivery where origin = 'replay'`,
  );
  expect(row?.count).toBe(4_501);
});

// evidence: replay-limit-resumes
it("continues where it stopped if the request is repeated", async () => {
  const { services, agent } = await openLimited(2_000);
  const { endpoint } = await services.endpoints.create(agent, { url: UNREACHABLE_URL });
  const replay = () => services.deliveries.replayMany(agent, endpoint.id, { which: "missing" });
  expect(await replay()).toMatchObject({ replayed: 2_000, hasMore: true });
  await expect(replay()).rejects.toThrow(/^An organisation can replay 2000 deliveries/);
  services.clock.advance(2_000);
  expect(await replay()).toMatchObject({ replayed: 500, hasMore: false });
});

it("keeps what it did in the caller's transaction, and uses the rate also if that fails", async () => {
  const { services, agent } = await openLimited(4_000);
  const { endpoint } = await services.endpoints.create(agent, { url: UNREACHABLE_URL });
  const replayAnd = (finish: () => void) =>
    services.database.transaction(async (tx) => {
      const result = await services.deliveries.replayMany(agent, endpoint.id, { which: "missing" }, { tx });
      finish();
      return result;
    });
  const failing = replayAnd(() => {
    throw new Error("rolled back");
  });
  await expect(failing).rejects.toThrow("rolled back");
  // 2,500 are used and 1,500 are left, which is less than a batch.
  await expect(replayAnd(() => undefined)).rejects.toThrow(/^An organisation can replay 4000 deliveries/);
  services.clock.advance(500);
  expect(await replayAnd(() => undefined)).toMatchObject({ replayed: 2_000, hasMore: true });
});

// evidence: replay-limit-defaults
it("allows 200,000 deliveries and then 1,000 per second by default", () => {
  expect(defaultReplayRate).toEqual({ perSecond: 1_000, burst: 200_000 });
});
