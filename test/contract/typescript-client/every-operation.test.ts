import { expect, it } from "vitest";
import { sharedApp } from "../../support/app/shared-app.ts";
import { apiDocument } from "../../support/app/openapi-contract.ts";
import { callEveryOperation } from "../../support/clients/every-typescript-operation.ts";

it("has a method for every operation", async () => {
  const app = await sharedApp();
  const agent = await app.createOrganization("agent");
  const [number = ""] = await app.createJobs(agent, [{}]);
  const called = new Set<string>();
  const recordingFetch = async (...request: Parameters<typeof fetch>): Promise<Response> => {
    const response = await fetch(...request);
    const path = new URL(response.url).pathname
      .replace(/^\/v1/, "")
      .replace(number, "{markingNumber}")
      .replace(/TEST-\w+/, "{markingNumber}")
      .replace(/(?<=\/events\/).+/, "{type}")
      .replace(/\/(whe|dlv|key)_\w+/, "/{id}")
      .replace(/\/req_\w+/, "/{request_id}");
    called.add(`${request[1]?.method} ${path}`);
    return response;
  };

  await callEveryOperation({ apiKey: agent.key, baseUrl: app.url, fetch: recordingFetch }, number);

  const operations = Object.entries(apiDocument.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect([...called].toSorted()).toEqual(operations.toSorted());
});
