/** Two APIs and two workers that share their databases act as one service. */
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { randomClientIpHeader } from "../support/accounts/mails.ts";
import { createTestUser, createSessionClient, signIn } from "../support/accounts/session-client.ts";
import { expectData, expectFailure } from "../support/app/assertions.ts";
import { startTestCluster, type TestCluster } from "../support/processes/cluster.fixture.ts";
import { subscribeAndWait } from "../support/graphql/subscription-client.ts";
import { queryData } from "../support/graphql/client.ts";
import { createApiClient } from "../support/app/app-instance.ts";
import { patchJob } from "../support/app/job-client.ts";
import type { TestOrganization } from "../support/app/app.fixture.ts";
import { eventually } from "../support/eventually.ts";

vi.setConfig({ testTimeout: 120_000 });

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await startTestCluster();
});
afterAll(() => cluster[Symbol.asyncDispose]());

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
  const statuses: number[] = [];
  for (let attempt = 0; attempt < 14; attempt += 1) {
    const door = cluster.apiClients[attempt % 2 === 0 ? 0 : 1];
    const response = await createSessionClient(door).call("/auth/sign-in/email", {
      method: "POST",
      headers,
      body,
    });
    statuses.push(response.status);
  }
  // Ten attempts and one more per minute: separate limits per API would have allowed all of them.
  expect(new Set(statuses.slice(0, 10))).toEqual(new Set([401]));
  expect(statuses.slice(12)).toEqual([429, 429]);
});

it("changes through either API reach subscribers of both, once and in order", async () => {
  const [one, two] = cluster.apiClients;
  const agent: TestOrganization = await cluster.app.createOrganization("agent");
  const [number = ""] = await cluster.app.createJobs(agent, [{}]);
  const followings = [await subscribeAndWait(one, agent.key), await subscribeAndWait(two, agent.key)];
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
