/** The actions of jobs have the same effects and refusals in REST and GraphQL. */
import { beforeAll, describe, expect, it } from "vitest";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";
import { expectSameEffect, expectSameRefusal, runBoth, type ParityAction } from "../support/app/parity.ts";

let app: SharedApp;

beforeAll(async () => {
  app = await sharedApp("api");
});

const UPDATE = `mutation ($input: UpdateJobInput!) {
  updateJob(input: $input) { userErrors { code field message } }
}`;

async function setUp() {
  const organization = await app.createOrganization("agent");
  const [markingNumber = ""] = await app.createJobs(organization, [{ patch: { weight: 4 } }]);
  return { organization, markingNumber };
}

const updateWeight = (
  weight: number,
  graphqlWeight = weight,
): ParityAction<Awaited<ReturnType<typeof setUp>>> => ({
  setUp,
  rest: ({ markingNumber }) => ({
    method: "PATCH",
    path: `/v1/jobs/by-marking/${markingNumber}`,
    body: { weight },
  }),
  graphql: ({ markingNumber }) => ({
    document: UPDATE,
    variables: { input: { markingNumber, patch: { weight: graphqlWeight } } },
  }),
});

describe("updateJob", () => {
  it("stores the same job and event", async () => {
    const { rest } = await expectSameEffect(app, updateWeight(5));
    expect(rest.stored["job"]).toMatchObject([{ weight: 5, version: 2 }]);
    expect(rest.stored["job_event"]).toHaveLength(2);
  });

  it("does not count as the same with another value: the comparison can fail", async () => {
    await expect(expectSameEffect(app, updateWeight(5, 6))).rejects.toThrow("to deeply equal");
  });

  it("is refused for the same reason if the job does not exist", async () => {
    const missing = {
      ...updateWeight(5),
      setUp: async () => ({ ...(await setUp()), markingNumber: "NONE" }),
    };
    await expectSameRefusal(app, missing, "not_found");
  });

  it("is refused for the same reason without the scope", async () => {
    const reader = {
      ...updateWeight(5),
      setUp: async () => {
        const organization = await app.createOrganization("agent", { scopes: ["jobs:read"] });
        return { organization, markingNumber: "NONE" };
      },
    };
    await expectSameRefusal(app, reader, "forbidden");
  });
});

const UPDATE_MANY = `mutation ($items: [UpdateJobInput!]!) {
  updateJobs(items: $items) {
    updatedCount failedCount results { markingNumber job { labels } userErrors { code message } } userErrors { code } }
}`;

/** One item of each kind: a change, a value equal to the stored one, the same job again, an unknown job and a bad value. */
const itemsFor = (markingNumber: string) => [
  { markingNumber, patch: { weight: 5 } },
  { markingNumber, patch: { weight: 5 } },
  { markingNumber, patch: { labels: "fragile" } },
  { markingNumber: "NONE", patch: { weight: 5 } },
  { markingNumber, patch: { labels: "x".repeat(256) } },
];

const updateMany = (
  items: (markingNumber: string) => readonly { markingNumber: string; patch: object }[],
): ParityAction<Awaited<ReturnType<typeof setUp>>> => ({
  setUp,
  rest: ({ markingNumber }) => ({
    method: "PATCH",
    path: "/v1/jobs/batch",
    body: {
      jobs: items(markingNumber).map(({ markingNumber: number, patch }) => ({
        marking_number: number,
        ...patch,
      })),
    },
  }),
  graphql: ({ markingNumber }) => ({ document: UPDATE_MANY, variables: { items: items(markingNumber) } }),
});

describe("updateJobs", () => {
  it("stores the same jobs and events, and has the same result for each item", async () => {
    const { rest, graphql } = await runBoth(app, updateMany(itemsFor));
    expect(rest.stored).toEqual(graphql.stored);
    expect(rest.stored["job"]).toMatchObject([{ weight: 5, labels: "fragile", version: 3 }]);
    const { data } = rest.response.body;
    const { updateJobs } = graphql.response.data;
    expect([data.updated_count, data.failed_count]).toEqual([
      updateJobs.updatedCount,
      updateJobs.failedCount,
    ]);
    const restItems = data.results.map(({ success, job, error }: RestItem) => [
      success,
      job?.labels ?? null,
      error ?? null,
    ]);
    const graphqlItems = updateJobs.results.map(({ job, userErrors: [error] }: GraphqlItem) => [
      !error,
      job?.labels ?? null,
      error?.message.replace(/^patch\./, "") ?? null,
    ]);
    expect(restItems).toEqual(graphqlItems);
    expect(restItems.map(([success]: [boolean]) => success)).toEqual([true, true, true, false, false]);
  });

  it("is refused for the same reason above 100 items", async () => {
    const many = Array.from({ length: 101 }, (_, index) => ({
      markingNumber: `MN-${index}`,
      patch: { weight: 5 },
    }));
    const { rest, graphql } = await runBoth(
      app,
      updateMany(() => many),
    );
    expect([rest.refusal?.code, graphql.refusal?.code]).toEqual(["invalid", "invalid"]);
    expect(rest.stored).toEqual(graphql.stored);
  });
});

interface RestItem {
  success: boolean;
  job?: { labels: string | null };
  error?: string;
}

interface GraphqlItem {
  job: { labels: string | null } | null;
  userErrors: readonly { message: string }[];
}
