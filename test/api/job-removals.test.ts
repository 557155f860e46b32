/** `job.unassigned` and `job.deleted`: an organisation learns that it can no longer see a job. */
import { beforeAll, expect, it } from "vitest";
import { toTypedId } from "../../src/core/ids.ts";
import { expectData, expectFailure } from "../support/app/assertions.ts";
import type { TestOrganization } from "../support/app/app.fixture.ts";
import { type FeedEvent, listFeedEvents, waitForFeedEvents } from "../support/app/feed-client.ts";
import { getJob, jobPath, patchJob } from "../support/app/job-client.ts";
import { useSharedApp } from "../support/app/shared-app.ts";
import { queryData } from "../support/graphql/client.ts";
import { subscribeAndWait, waitForEventCount } from "../support/graphql/subscription-client.ts";

const { app, agent } = useSharedApp();
let operator: string;

beforeAll(async () => {
  operator = await app.createKey(null);
});

const ASSIGN = `mutation ($items: [AssignJobInput!]!) { assignJobs(items: $items) { assignedCount } }`;

async function assign(number: string, ...contractors: (TestOrganization | null)[]): Promise<void> {
  for (const contractor of contractors) {
    const contractorId = contractor && toTypedId("org", contractor.id);
    const variables = { items: [{ markingNumber: number, contractorId }] };
    const { assignJobs } = await queryData(app, ASSIGN, { key: operator, variables });
    expect(assignJobs).toEqual({ assignedCount: 1 });
  }
}

const createContractors = () =>
  Promise.all([app.createOrganization("contractor"), app.createOrganization("contractor")]);

const createJob = (contractor: TestOrganization): Promise<string> =>
  app.createJob(agent, { contractor, patch: { recipient_name: "Ann", delivery_address: "1 Mill Lane" } });

const typesOf = (events: readonly FeedEvent[]): string[] =>
  events.map(({ type, data }) => `${type} ${data.sequence}`);

it("job.unassigned tells only the former contractor, with nothing but the identity of the job", async () => {
  const [former, next] = await createContractors();
  const number = await createJob(former);
  const { id } = expectData(await getJob(app, former, number));
  await assign(number, next);

  const [, removal] = await waitForFeedEvents(app, former, 2);
  expect(removal).toEqual({
    id: expect.stringMatching(/^evt_/) as string,
    type: "job.unassigned",
    api_version: "v1",
    timestamp: expect.any(String) as string,
    data: {
      job: { id, marking_number: number, version: 3 },
      changes: { contractor_id: { from: toTypedId("org", former.id), to: null } },
      sequence: 3,
      actor: { type: "key", id: expect.stringMatching(/^key_/) as string },
      request_id: expect.stringMatching(/^req_/) as string,
    },
  });
  expect(typesOf(await waitForFeedEvents(app, next, 1))).toEqual(["job.assigned 3"]);
  const ofAgent = (await listFeedEvents(app, agent)).filter(({ data }) => data.job.marking_number === number);
  expect(typesOf(ofAgent)).toEqual(["job.created 1", "job.assigned 2", "job.assigned 3"]);
  expectFailure(await getJob(app, former, number), 404);
});

it("job.unassigned follows a job that loses its contractor, and one that is imported for another", async () => {
  const [former, next] = await createContractors();
  const unassigned = await createJob(former);
  const imported = await createJob(former);
  await assign(unassigned, null);
  await app.createJobs(agent, [{ markingNumber: imported, contractor: next, patch: { weight: 4 } }]);

  const events = await waitForFeedEvents(app, former, 5, "types=job.updated,job.assigned,job.unassigned");
  expect(typesOf(events)).toEqual([
    "job.assigned 2",
    "job.assigned 2",
    "job.unassigned 3",
    // The import changes the fields before the contractor.
    "job.updated 3",
    "job.unassigned 4",
  ]);
});

it("job.unassigned is in order by sequence for a job that moves away and back", async () => {
  const [former, next] = await createContractors();
  const number = await createJob(former);
  await assign(number, next, former, null, former);
  expect(typesOf(await waitForFeedEvents(app, former, 5))).toEqual([
    "job.assigned 2",
    "job.unassigned 3",
    "job.assigned 4",
    "job.unassigned 5",
    "job.assigned 6",
  ]);
  expect(typesOf(await waitForFeedEvents(app, next, 2))).toEqual(["job.assigned 3", "job.unassigned 4"]);
  expect(expectData(await getJob(app, former, number)).version).toBe(6);
});

it("job.unassigned is not in the history of the job, and by ID only for its receiver", async () => {
  const [former, next] = await createContractors();
  const number = await createJob(former);
  await assign(number, next);
  const [, removal] = await waitForFeedEvents(app, former, 2);
  const NODE = "query ($id: ID!) { node(id: $id) { ... on JobEvent { type markingNumber job { id } } } }";
  const read = async (key: string) =>
    (await queryData(app, NODE, { key, variables: { id: removal?.id } })).node;
  expect(await read(former.key)).toEqual({ type: "JOB_UNASSIGNED", markingNumber: number, job: null });
  expect([await read(next.key), await read(agent.key), await read(operator)]).toEqual([null, null, null]);
  const history = expectData(await app.call(`${jobPath(number)}/history`, { key: next.key }));
  expect(history.pagination.total).toBe(3);
});

it("job.unassigned reaches subscriptions of the former contractor with any filter", async () => {
  const [former, next] = await createContractors();
  const number = await createJob(former);
  const other = await createJob(former);
  await waitForFeedEvents(app, former, 2);
  const following = await subscribeAndWait(app, former.key, { filter: { weight: { gte: 900 } } });
  const ofNext = await subscribeAndWait(app, next.key);
  await assign(number, next);
  await patchJob(app, former, other, { weight: 901 });
  await waitForEventCount(following, 2);
  expect(following.events.map(({ type, job }) => [type, job?.markingNumber ?? null])).toEqual([
    ["JOB_UNASSIGNED", null],
    ["JOB_UPDATED", other],
  ]);
  await waitForEventCount(ofNext, 1);
  expect(ofNext.events.map(({ type }) => type)).toEqual(["JOB_ASSIGNED"]);
});

it("job.unassigned is delivered to the endpoints of the former contractor that receive the type", async () => {
  const [former, next] = await createContractors();
  const number = await createJob(former);
  const send = (method: string, path: string, body: object) =>
    app.call(`/v1/webhook-endpoints${path}`, { method, key: former.key, body: JSON.stringify(body) });
  const create = async (eventTypes: string[] | null) => {
    const { body } = await send("POST", "", { url: "http://127.0.0.1:9", event_types: eventTypes });
    return body.data.endpoint.id as string;
  };
  const all = await create(null);
  const some = await create(["job.unassigned"]);
  const none = await create(["job.updated"]);
  await assign(number, next);
  const deliveriesTo = async (endpoint: string) =>
    expectData(await app.call(`/v1/webhook-deliveries?endpoint_id=${endpoint}`, { key: former.key }))
      .items as {
      id: string;
      event_type: string;
      marking_number: string;
    }[];
  for (const endpoint of [all, some]) {
    const [delivery, ...others] = await deliveriesTo(endpoint);
    expect([delivery, others]).toEqual([
      expect.objectContaining({ event_type: "job.unassigned", marking_number: number }),
      [],
    ]);
    const detail = expectData(await app.call(`/v1/webhook-deliveries/${delivery?.id}`, { key: former.key }));
    const [, removal] = await waitForFeedEvents(app, former, 2);
    expect(JSON.parse(detail.request_body as string)).toEqual(removal);
  }
  expect(await deliveriesTo(none)).toEqual([]);
  const replay = { which: "missing", since: new Date(Date.now() - 60_000).toISOString() };
  expectData(await send("PATCH", `/${none}`, { event_types: ["job.unassigned"] }));
  const { replayed } = expectData(await send("POST", `/${none}/replay`, replay));
  expect([replayed, (await deliveriesTo(none))[0]?.marking_number]).toEqual([1, number]);
});
