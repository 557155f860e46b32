import type { Response } from "supertest";
import { describe, expect, it } from "vitest";
import { createLogger } from "../../src/core/logger.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import { expectData, expectFailure } from "../support/app/assertions.ts";
import { getJob, listJobs, patchBatch, patchJob } from "../support/app/job-client.ts";
import { startTestApp } from "../support/app/app.fixture.ts";
import { useSharedApp } from "../support/app/shared-app.ts";
import { toApiResponse, type ApiResponse } from "../support/app/app-instance.ts";

const { app, agent } = useSharedApp();

describe("the envelope", () => {
  it("has a new request ID for each request, ignoring the client's", async () => {
    const ids = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const { body } = await app.call("/v1/jobs", {
          key: agent.key,
          headers: { "x-request-id": "req_mine" },
        });
        return body.request_id;
      }),
    );
    expect(new Set(ids).size).toBe(20);
    expect(ids).not.toContain("req_mine");
  });

  it("of an error has code, message, details and doc_url", async () => {
    const error = expectFailure(await app.call("/v1/jobs"), 401);
    expect(Object.keys(error)).toEqual(["code", "message", "details", "doc_url"]);
    expect(error).toMatchObject({
      details: null,
      doc_url: `${app.url}/guide/errors#unauthorizedexception-401`,
    });
  });

  it("is compressed if the client accepts it, with Content-Encoding", async () => {
    await app.createJobs(agent, 30);
    const read = async (accepted: string): Promise<Response> => {
      const response = await app.request("/v1/jobs?page_size=30", {
        key: agent.key,
        headers: { "accept-encoding": accepted },
      });
      expect((response.body as ApiResponse["body"]).data.items).toHaveLength(30);
      expect(response.get("vary")).toMatch(/accept-encoding/i);
      return response;
    };
    expect((await read("gzip")).get("content-encoding")).toBe("gzip");
    expect((await read("br")).get("content-encoding")).toBe("br");
    expect((await read("identity")).headers).not.toHaveProperty("content-encoding");
    expect((await read("gzip;q=0, identity")).headers).not.toHaveProperty("content-encoding");
  });
});

/** Below each route: refusals.test.ts. */
describe("404 for an unknown route", () => {
  it.each([
    "/",
    "/v1",
    "/v2/jobs",
    "/V1/jobs",
    "/v1/../v1/nothing",
    "/v1/%6Aobs/nothing",
    "/v1/jobs%2Fbatch",
    "/index.html?x=%FF",
  ])("for %s", async (path) => {
    expectFailure(await app.call(path, { key: agent.key }), 404);
  });
});

describe("405 with Allow for a known path outside v1 with another method", () => {
  it.each(["/health/live", "/health/ready", "/metrics"])("for %s", async (path) => {
    const response = toApiResponse(await app.request(path, { method: "POST", key: agent.key }));
    expectFailure(response, 405);
    expect(response.headers.get("allow")).toBe("GET, HEAD");
  });
});

describe("HEAD", () => {
  it.each(["/v1/jobs", "/v1/events", "/v1/reference/statuses", "/health/live", "/health/ready", "/metrics"])(
    "returns 200 for %s, with the headers of GET and no body",
    async (path) => {
      const response = await app.request(path, { method: "HEAD", key: agent.key });
      expect(response.status).toBe(200);
      expect(response.text).toBeFalsy();
      expect(response.get("x-request-id")).toMatch(/^req_/);
      expect(response.get("content-type")).toBeTruthy();
    },
  );

  it("returns 401 and 404 without a body", async () => {
    for (const [path, status] of [
      ["/v1/jobs", 401],
      ["/v1/nothing", 404],
    ] as const) {
      const response = await app.request(path, { method: "HEAD" });
      expect({ status: response.status, hasText: Boolean(response.text) }).toEqual({
        status,
        hasText: false,
      });
    }
  });
});

// evidence: internal-error-cause-logged-only
it("500 for an unexpected error does not reveal the cause, which is logged with the request_id", async () => {
  const lines: Record<string, unknown>[] = [];
  const logger = createLogger("error", {
    write: (line) => void lines.push(JSON.parse(line) as Record<string, unknown>),
  });
  await using broken = await startTestApp({ WAYMARK_ROLE: "api" }, { logger });
  const partner = await broken.createOrganization("agent");
  const [number = ""] = await broken.createJobs(partner, [{ patch: { recipient_name: "Secret Name" } }]);
  await broken.database.query(sql`alter table job add constraint no_gold check (labels <> 'gold')`);
  // PostgreSQL's message of this error quotes the whole row.
  expectFailure(await patchJob(broken, partner, number, { labels: "gold" }), 500);
  expect(lines).toMatchObject([{ level: "error", err: { code: "23514" } }]);
  await broken.database.query(sql`alter table job rename column weight to wait`);

  const responses = [
    await listJobs(broken, partner),
    await getJob(broken, partner, number),
    await patchJob(broken, partner, number, { labels: "Secret Label" }),
    await patchBatch(broken, partner, [{ marking_number: number, labels: "Secret Label" }]),
  ];
  for (const response of responses) {
    const error = expectFailure(response, 500);
    expect(error.details).toBeNull();
    expect(JSON.stringify(error)).not.toMatch(/weight|column|select|Secret|42703|postgres/i);
    const line = lines.find((one) => one["request_id"] === response.body.request_id);
    expect(line).toMatchObject({ err: { code: "42703", message: expect.stringContaining("weight") } });
  }
  expect(JSON.stringify(lines)).not.toMatch(/Secret/);
  expectData(await broken.call("/v1/reference/statuses", { key: partner.key }));
});
