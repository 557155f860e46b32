/** The mutations whose arguments or payload are not those of their operation. */
import { beforeAll, describe, expect, it } from "vitest";
import type { EndpointService } from "../../src/webhooks/endpoints/service.ts";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";
import { graphql } from "../support/graphql/client.ts";
import { setUpWebhooks } from "../support/webhooks/webhook-parity.fixture.ts";

let app: SharedApp;

beforeAll(async () => {
  app = await sharedApp("api");
});

it("createTestJobs takes a template with the names of GraphQL, and returns the jobs", async () => {
  const { id } = await app.createOrganization("agent");
  const text = await app.createKey(id, { testSide: "agent" });
  const create = (template: string) =>
    graphql(
      app,
      `mutation { createTestJobs(input: { count: 2, template: ${template} }) {
        jobs { recipientName weight normalizedStatus } userErrors { code field } } }`,
      { key: text },
    );

  const job = { recipientName: "Harbour", weight: 8.25, normalizedStatus: "picked_up" };
  const { data } = await create('{ recipientName: "Harbour", weight: 8.25, normalizedStatus: "picked_up" }');
  expect(data.createTestJobs).toEqual({ jobs: [job, job], userErrors: [] });
  const refused = await create('{ normalizedStatus: "lost" }');
  expect(refused.data.createTestJobs).toEqual({
    jobs: null,
    userErrors: [{ code: "INVALID", field: "input.template.normalizedStatus" }],
  });
});

async function resume(args: string) {
  const { key, endpoint, organization } = await setUpWebhooks(app, { jobs: 1 });
  const owner: Parameters<EndpointService["pause"]>[0] = {
    organizationId: organization.id,
    actor: { type: "system", id: null },
  };
  await app.webhooks.endpoints.pause(owner, endpoint);
  const { data, errors = [] } = await graphql(
    app,
    `mutation { resumeWebhookEndpoint(id: "${endpoint}"${args}) {
      endpoint { status pending } discarded userErrors { code field } } }`,
    { key },
  );
  return { payload: data?.resumeWebhookEndpoint, errors: errors.map(({ message }) => message) };
}

describe("resumeWebhookEndpoint", () => {
  it.each([
    ["sends by default", "", 0],
    ["discards", ", pendingPolicy: DISCARD", 1],
    ["sends what is newer", ', pendingPolicy: SEND_SINCE, since: "0001-01-01T00:00:00Z"', 0],
    ["sends what is newer than 1970", ', pendingPolicy: SEND_SINCE, since: "1969-12-31T23:59:59Z"', 0],
    ["discards what is older", ', pendingPolicy: SEND_SINCE, since: "9999-12-31T23:59:59Z"', 1],
  ])("%s", async (_what, args, discarded) => {
    const endpoint = { status: "ACTIVE", pending: 1 - discarded };
    expect(await resume(args)).toEqual({ payload: { endpoint, discarded, userErrors: [] }, errors: [] });
  });

  it.each([
    ["is required with", ", pendingPolicy: SEND_SINCE"],
    ["is only allowed with", ', pendingPolicy: DISCARD, since: "2020-01-01T00:00:00Z"'],
  ])("refuses `since`: it %s SEND_SINCE", async (problem, args) => {
    const { errors } = await resume(args);
    expect(errors).toEqual([`since ${problem} pendingPolicy: SEND_SINCE`]);
  });
});
