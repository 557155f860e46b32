import { expect, it } from "vitest";
import { startAppInstance, toApiResponse } from "../support/app/app-instance.ts";
import { expectFailure } from "../support/app/assertions.ts";
import { listJobs } from "../support/app/job-client.ts";
import { sharedApp } from "../support/app/shared-app.ts";

const app = await sharedApp("api");
const agent = await app.createOrganization("agent");

const origin = "https://app.example.com";
const preflight = {
  method: "OPTIONS",
  headers: {
    origin,
    "access-control-request-method": "PATCH",
    "access-control-request-headers": "x-api-key",
  },
};

// evidence: cors-listed-origins-only
it("CORS_ORIGINS allows only the listed origins", async () => {
  await using open = await startAppInstance(app.databaseUrl, {
    CORS_ORIGINS: `${origin}, https://other.example.com`,
  });
  const allowed = async (from: string): Promise<string | undefined> =>
    (await open.request("/v1/jobs", { key: agent.key, headers: { origin: from } })).get(
      "access-control-allow-origin",
    );
  expect(await allowed(origin)).toBe(origin);
  expect(await allowed("https://other.example.com")).toBe("https://other.example.com");
  const refused = await open.request("/v1/jobs", { headers: { origin } });
  expect([refused.status, refused.get("access-control-allow-origin")]).toEqual([401, origin]);
  for (const from of [
    "https://evil.example.com",
    "http://app.example.com",
    "https://app.example.com.evil.com",
    "null",
  ]) {
    expect(await allowed(from)).toBeUndefined();
  }
  const preflightResponse = await open.request("/v1/jobs/batch", preflight);
  expect(preflightResponse.status).toBe(204);
  expect(preflightResponse.get("access-control-allow-methods")).toContain("PATCH");
  expect(preflightResponse.get("access-control-allow-headers")).toContain("x-api-key");
  expect(preflightResponse.get("vary")).toMatch(/origin/i);
});

it("WAYMARK_ROLE=worker returns 404 for the API, but serves metrics and health (not ready without MongoDB)", async () => {
  await using worker = await startAppInstance(app.databaseUrl, { WAYMARK_ROLE: "worker" });
  // Without the contract check, because the OpenAPI document describes a process with the API.
  expectFailure(toApiResponse(await worker.request("/v1/jobs", { key: agent.key })), 404);
  for (const path of ["/health/live", "/metrics"]) expect((await worker.request(path)).status).toBe(200);
  expect((await worker.request("/health/ready")).status).toBe(503);
});

it("PUBLIC_URL is the prefix of the URLs in Link", async () => {
  await using instance = await startAppInstance(app.databaseUrl, {
    PUBLIC_URL: "https://api.example.com/delivery/",
  });
  const { headers } = await listJobs(instance, agent, "page_size=1");
  expect(headers.get("link")).toMatch(
    /^<https:\/\/api\.example\.com\/delivery\/v1\/jobs\?page_size=1&page=1>; rel="first"/,
  );
});
