/** The actions of jobs have the same effects and refusals in REST and GraphQL. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestApp, type TestApp } from "../support/app/app.fixture.ts";
import { expectSameEffect, expectSameRefusal, type ParityAction } from "../support/app/parity.ts";

let app: TestApp;

beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app[Symbol.asyncDispose]());

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
