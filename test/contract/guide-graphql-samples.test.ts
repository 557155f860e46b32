/** Runs the GraphQL samples of the pages outside `docs/guide/graphql`. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { toTypedId } from "../../src/core/ids.ts";
import { startTestApp, type TestApp, type TestOrganization } from "../support/app/app.fixture.ts";
import { codeBlocks, guidePages, readPage } from "../support/docs/guide-pages.ts";
import { queryData } from "../support/graphql/client.ts";

interface Sample {
  document: string;
  /** From the following block, if it contains variables. */
  variables: { items?: object[]; input?: object };
}

/** By the page and the name of the operation. */
const samples = new Map(
  guidePages
    .filter((page) => !page.startsWith("guide/graphql/"))
    .flatMap((page) => {
      const blocks = codeBlocks(readPage(page));
      return blocks.flatMap(({ language, text }, index): [string, Sample][] => {
        if (language !== "graphql") return [];
        const next = blocks[index + 1];
        const variables = next?.language === "json" ? (JSON.parse(next.text) as Sample["variables"]) : {};
        const [, name = ""] = /^(?:mutation|query) (\w+)/.exec(text) ?? [];
        return [[`${page} ${name}`.trim(), { document: text, variables }]];
      });
    }),
);

function sample(name: string): Sample {
  const found = samples.get(name);
  if (!found) throw new Error(`The guide has no sample ${name}`);
  return found;
}

let app: TestApp;
let agent: TestOrganization;

beforeAll(async () => {
  app = await startTestApp();
  agent = await app.createOrganization("agent");
});
afterAll(() => app[Symbol.asyncDispose]());

describe("the samples", () => {
  it("are all run here", () => {
    expect([...samples.keys()]).toEqual([
      "guide/test-mode.md Simulate",
      "operate/console.md NewJobs",
      "operate/console.md CarrierFeed",
    ]);
  });

  it("Simulate: starts a run of a test job", async () => {
    const { text: key } = await app.keys.create({
      organizationId: agent.id,
      name: "test",
      createdBy: "test",
      testSide: "agent",
    });
    const created = await queryData(
      app,
      "mutation { createTestJobs(input: {}) { jobs { id markingNumber } } }",
      { key },
    );
    const { markingNumber } = created.createTestJobs.jobs[0];
    const { document, variables } = sample("guide/test-mode.md Simulate");
    const input = { ...variables.input, markingNumber };
    const data = await queryData(app, document, { key, variables: { input } });
    expect(data.runTestJob).toMatchObject({ run: { steps: expect.any(Array) }, userErrors: [] });
  });

  it("NewJobs and CarrierFeed: create a job once, and set its provider status as an event", async () => {
    const { text: key } = await app.keys.create({ organizationId: null, name: "feed", createdBy: "test" });
    const jobs = sample("operate/console.md NewJobs");
    const agentId = toTypedId("org", agent.id);
    const variables = { items: jobs.variables.items?.map((item) => ({ ...item, agentId })) };
    const { createJobs } = await queryData(app, jobs.document, { key, variables });
    expect(createJobs).toMatchObject({ createdCount: 1, failedCount: 0, results: [{ outcome: "CREATED" }] });
    const again = await queryData(app, jobs.document, { key, variables });
    expect(again.createJobs.results).toMatchObject([
      { outcome: "FAILED", userErrors: [{ code: "CONFLICT" }] },
    ]);

    const feed = sample("operate/console.md CarrierFeed");
    const { setProviderStatus } = await queryData(app, feed.document, { key, variables: feed.variables });
    expect(setProviderStatus).toMatchObject({
      updatedCount: 1,
      results: [{ outcome: "UPDATED", job: { version: 2, providerStatus: "Sorted at hub 12" } }],
    });
    const number = setProviderStatus.results[0].markingNumber as string;
    const { body } = await app.call(`/v1/jobs/by-marking/${number}/history`, { key: agent.key });
    expect(body.data).toMatchObject({
      items: [{ changes: { provider_status: { to: "Sorted at hub 12" } } }, { type: "job.created" }],
    });
  });

  it("the REST API rejects an operator key", async () => {
    const { text: key } = await app.keys.create({ organizationId: null, name: "feed", createdBy: "test" });
    expect((await app.call("/v1/jobs", { key })).status).toBe(403);
  });
});
