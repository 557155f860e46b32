/** Two APIs and two workers that share their databases act as one service. */
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { randomClientIpHeader } from "../support/accounts/mails.ts";
import { createTestUser, createSessionClient, signIn } from "../support/accounts/session-client.ts";
import { expectData, expectFailure } from "../support/app/assertions.ts";
import { startTestCluster, type TestCluster } from "../support/processes/cluster.fixture.ts";
import {
  subscribeAndWait,
  createSubscriptionClient,
  countSubscriptions,
  subscribe,
  type JobSubscription,
} from "../support/graphql/subscription-client.ts";
import { queryData } from "../support/graphql/client.ts";
import { createApiClient, type ApiResponse } from "../support/app/app-instance.ts";
import { jobPath, listJobs, patchJob } from "../support/app/job-client.ts";
import type { TestOrganization } from "../support/app/app.fixture.ts";
import { eventually } from "../support/eventually.ts";

vi.setConfig({ testTimeout: 120_000 });

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await startTestCluster();
});
afterAll(() => cluster[Symbol.asyncDispose]());

/** Makes `count` requests in sequence, alternating between the APIs, and returns their statuses. */
async function inTurn(
  count: number,
  call: (door: TestCluster["apiClients"][number]) => Promise<ApiResponse>,
): Promise<number[]> {
  const statuses: number[] = [];
  for (let at = 0; at < count; at += 1) {
    const [one, two] = cluster.apiClients;
    statuses.push((await call(at % 2 === 0 ? one : two)).status);
  }
  return statuses;
}

const countOf = (statuses: readonly number[], status: number): number =>
  statuses.filter((one) => one === status).length;

/** Subscribes through the load balancer. */
async function followByTheBalancer(key: string): Promise<JobSubscription> {
  const standingInAll = async (): Promise<number> =>
    (await Promise.all(cluster.apiClients.map(countSubscriptions))).reduce((sum, count) => sum + count, 0);
  const before = await standingInAll();
  const following = subscribe(createSubscriptionClient(createApiClient(cluster.url), { "x-api-key": key }));
  await eventually(async () => expect(await standingInAll()).toBe(before + 1));
  return following;
}

describe("keys", () => {
  const CREATE = `mutation { createApiKey(input: { name: "another" }) { apiKey { id } secret userErrors { message } } }`;
  const REVOKE = `mutation ($id: ID!) { revokeApiKey(id: $id) { userErrors { message } } }`;

  it("a key created through one API works on the other immediately, and is rejected by both within a second of revocation", async () => {
    const [one, two] = cluster.apiClients;
    const agent = await cluster.app.createOrganization("agent");
    const { createApiKey: created } = await queryData(one, CREATE, { key: agent.key });
    const principal = { key: created.secret as string };
    // Both APIs have cached the key now.
    expect(countOf(await inTurn(20, (door) => listJobs(door, principal)), 200)).toBe(20);

    const { revokeApiKey } = await queryData(two, REVOKE, {
      key: agent.key,
      variables: { id: created.apiKey.id },
    });
    expect(revokeApiKey.userErrors).toEqual([]);
    const revokedMs = performance.now();
    let lastLetThroughMs = revokedMs;
    await eventually(async () => {
      const requestedAtMs = performance.now();
      const statuses = await inTurn(2, (door) => listJobs(door, principal));
      if (statuses.includes(200)) lastLetThroughMs = requestedAtMs;
      expect(statuses).toEqual([401, 401]);
    });
    expect(lastLetThroughMs - revokedMs).toBeLessThan(1_000);
    expect(await inTurn(20, (door) => listJobs(door, principal))).toEqual(
      Array.from({ length: 20 }, () => 401),
    );
  });

  it("the rate limit of a key applies to both APIs together", async () => {
    const rateLimits = { read: { perSecond: 0.001, burst: 20 } };
    const agent = await cluster.app.createOrganization("agent", { rateLimits });
    const statuses = await inTurn(30, (door) => listJobs(door, agent));
    expect(statuses).toEqual(Array.from({ length: 30 }, (_, index) => (index < 20 ? 200 : 429)));
  });
});

describe("Idempotency-Key", () => {
  it("the same key sent to both APIs at the same time changes the job once, and both can return the response", async () => {
    const agent = await cluster.app.createOrganization("agent");
    const [number = ""] = await cluster.app.createJobs(agent, [{}]);
    for (let round = 1; round <= 10; round += 1) {
      const headers = { "idempotency-key": `round-${round}` };
      const body = { weight: round };
      const send = (door: TestCluster["apiClients"][number]): Promise<ApiResponse> =>
        patchJob(door, { ...agent, headers }, number, body);
      const first = await Promise.all(cluster.apiClients.map(send));
      // The second request gets 409 or the stored response of the first.
      expect(first.map(({ status }) => [200, 409].includes(status))).toEqual([true, true]);
      const again = await Promise.all(cluster.apiClients.map(send));
      const answers = [...first.filter(({ status }) => status === 200), ...again];
      expect(answers.length).toBeGreaterThanOrEqual(3);
      expect(answers.map((answer) => expectData(answer).weight)).toEqual(answers.map(() => round));
      const versions = answers.map((answer) => answer.headers.get("etag"));
      expect(versions).toEqual(answers.map(() => `"${round + 1}"`));
      expect(again.map((answer) => answer.headers.get("idempotency-replayed"))).toEqual(["true", "true"]);
    }
    const history = await cluster.apiClients[0].call(`${jobPath(number)}/history?page_size=50`, {
      key: agent.key,
    });
    expect(expectData(history).items).toHaveLength(11);
  });
});

describe("user sessions", () => {
  it("signing in and out through one API applies to the other", async () => {
    const [one, two] = cluster.apiClients;
    const { id } = await cluster.app.createOrganization("agent");
    const person = await createTestUser(cluster.app, { organizationId: id, role: "owner" });
    const here = await signIn(one, person);
    const there = createSessionClient(two, here.cookie);
    expect(expectData(await there.get("/auth/session")).user.email).toBe(person.email);
    const headers = { cookie: here.cookie, origin: two.url };
    expect((await queryData(two, "{ viewer { user { email } } }", { headers })).viewer.user.email).toBe(
      person.email,
    );

    expectData(await there.post("/auth/sign-out"));
    const late = createSessionClient(one, here.cookie);
    await eventually(async () => expectFailure(await late.get("/auth/session"), 401));
  });

  it("failed sign-ins count per account and network across both APIs", async () => {
    const { id } = await cluster.app.createOrganization("agent");
    const { email } = await createTestUser(cluster.app, { organizationId: id, role: "owner" });
    const headers = randomClientIpHeader();
    const body = JSON.stringify({ email, password: "not this one, nor another" });
    const statuses = await inTurn(14, (door) =>
      createSessionClient(door).call("/auth/sign-in/email", { method: "POST", headers, body }),
    );
    // Ten attempts and one more per minute: separate limits per API would have allowed all of them.
    expect(countOf(statuses, 401)).toBeGreaterThanOrEqual(10);
    expect(countOf(statuses, 401)).toBeLessThanOrEqual(12);
    expect(statuses.slice(12)).toEqual([429, 429]);
  });
});

describe("subscriptions", () => {
  it("changes through either API reach subscribers of both and of the load balancer, once and in order", async () => {
    const [one, two] = cluster.apiClients;
    const agent: TestOrganization = await cluster.app.createOrganization("agent");
    const [number = ""] = await cluster.app.createJobs(agent, [{}]);
    const followings = [
      await subscribeAndWait(one, agent.key),
      await subscribeAndWait(two, agent.key),
      await followByTheBalancer(agent.key),
    ];
    const doors = [one, two, createApiClient(cluster.url)];
    for (let weight = 1; weight <= 30; weight += 1) {
      const door = doors[weight % doors.length] ?? one;
      expectData(await patchJob(door, agent, number, { weight }));
    }
    const expected = Array.from({ length: 30 }, (_, index) => index + 2);
    for (const { events } of followings)
      await eventually(() =>
        expect(events.map(({ sequence }) => sequence).filter((sequence) => sequence > 1)).toEqual(expected),
      );
    expect(cluster.balancer.unanswered).toEqual([]);
  });
});
