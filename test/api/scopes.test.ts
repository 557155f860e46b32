/** A key without `jobs:read` may change jobs or manage webhooks, but sees no job. */
import { beforeAll, describe, expect, it } from "vitest";
import { expectData } from "../support/app/assertions.ts";
import { queryData, graphql } from "../support/graphql/client.ts";
import { getJob, patchJob } from "../support/app/job-client.ts";
import type { TestOrganization } from "../support/app/app.fixture.ts";
import { useSharedApp } from "../support/app/shared-app.ts";

/** An organisation with one key per scope. */
const { app, agent: all } = useSharedApp();
let writer: TestOrganization;
let hooks: TestOrganization;

beforeAll(async () => {
  writer = { ...all, key: await app.createKey(all.id, { scopes: ["jobs:write"] }) };
  hooks = { ...all, key: await app.createKey(all.id, { scopes: ["webhooks:manage"] }) };
});

const newJob = (): Promise<string> => app.createJob(all, { patch: { recipient_name: "Ada Secret" } });

/** The codes and messages of the errors, and the whole response as text. */
async function errorsOf(partner: TestOrganization, query: string) {
  const { data, errors = [], text } = await graphql(app, query, { key: partner.key });
  return { data: data as unknown, messages: errors.map(({ message }) => message), text };
}

describe("a key with only jobs:write, over GraphQL", () => {
  it("can change jobs, but not select the job in the payload", async () => {
    const number = await newJob();
    const one = `updateJob(input: { markingNumber: "${number}", patch: { weight: 5 } })`;
    const many = `updateJobs(items: [{ markingNumber: "${number}", patch: { weight: 6 } }])`;
    expect(await queryData(app, `mutation { ${one} { userErrors { code } } }`, { key: writer.key })).toEqual({
      updateJob: { userErrors: [] },
    });
    const query = `mutation { ${one} { job { recipientName } } ${many} { updatedCount results { outcome job { recipientName } } } }`;
    const { data, messages, text } = await errorsOf(writer, query);
    expect(data).toEqual({
      updateJob: { job: null },
      updateJobs: { updatedCount: 1, results: [{ outcome: "UPDATED", job: null }] },
    });
    expect(messages).toEqual([1, 2].map(() => expect.stringContaining("jobs:read")));
    expect(text).not.toContain("Ada");
    expect(expectData(await getJob(app, all, number))).toMatchObject({ weight: 6 });
  });

  it("cannot do a dry run, with any selection", async () => {
    const number = await newJob();
    const items = `items: [{ markingNumber: "${number}", patch: { weight: 6 } }]`;
    const query = `mutation { updateJobs(${items}, dryRun: true) { results { outcome } } }`;
    const { messages } = await errorsOf(writer, query);
    expect(messages).toEqual([expect.stringContaining("jobs:read")]);
  });
});

it("a key with only webhooks:manage cannot read the body of a delivery, but the rest of it", async () => {
  const created =
    'createWebhookEndpoint(input: { url: "http://127.0.0.1:9/hook" }) { endpoint { id } userErrors { code } }';
  await queryData(app, `mutation { ${created} }`, { key: all.key });
  const number = await newJob();
  await patchJob(app, all, number, { weight: 2 });
  const query = "{ webhookDeliveries(first: 5) { nodes { markingNumber requestBody job { id } } } }";
  const { data, messages, text } = await errorsOf(hooks, query);
  const { nodes } = (data as { webhookDeliveries: { nodes: object[] } }).webhookDeliveries;
  expect(nodes.length).toBeGreaterThan(0);
  expect(nodes).toContainEqual({ markingNumber: number, requestBody: null, job: null });
  expect(new Set(messages)).toEqual(new Set(["The API key lacks the scope jobs:read"]));
  expect(text).not.toContain("Ada");
  expect((await errorsOf(all, query)).text).toContain("Ada");
});
