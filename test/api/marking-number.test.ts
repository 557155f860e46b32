import { beforeAll, describe, expect, it } from "vitest";
import { expectData, expectFailure, expectProblems } from "../support/app/assertions.ts";
import { getJob, patchBatch, patchJob } from "../support/app/job-client.ts";
import { sendRawRequest, type RawRequest } from "../support/app/raw-http-client.ts";
import { useSharedApp } from "../support/app/shared-app.ts";
import type { ApiResponse } from "../support/app/app-instance.ts";

const { app, agent } = useSharedApp();

/** Sends a request with exactly this path. */
function exactly(path: string, { headers = {}, ...request }: RawRequest = {}): Promise<ApiResponse> {
  return sendRawRequest(app.url, path, {
    ...request,
    headers: { "x-api-key": agent.key, "content-type": "application/json", ...headers },
  });
}

const patchExactly = (path: string): Promise<ApiResponse> =>
  exactly(path, { method: "PATCH", body: '{"weight":1}' });

describe("a Marking Number in a path is percent-decoded, exact, case-sensitive and not trimmed", () => {
  const numbers = [
    "a/b",
    "a//b/",
    "a/history",
    "batch",
    "..",
    "../../health/live",
    " padded ",
    " ",
    "100%",
    "%2F",
    "a+b",
    "a?b=c&d",
    "ü-ñ-字-📦",
    "e\u0301",
    "\u00e9",
    "quote'\"\\;",
    "line\nbreak\ttab\u0001",
    "case",
    "CASE",
    "📦".repeat(120),
  ];

  beforeAll(async () => {
    await app.createJobs(
      agent,
      numbers.map((markingNumber) => ({ markingNumber, patch: { labels: markingNumber } })),
    );
  });

  it.each(numbers)("for %j", async (number) => {
    const path = `/v1/jobs/by-marking/${encodeURIComponent(number)}`;
    expect(expectData(await exactly(path))).toMatchObject({ marking_number: number, labels: number });
    expect(expectData(await patchExactly(path))).toMatchObject({ marking_number: number, weight: 1 });
    expect(expectData(await exactly(`${path}/history`)).pagination.total).toBe(2);
    const [result] = expectData(
      await patchBatch(app, agent, [{ marking_number: number, weight: 2 }]),
    ).results;
    expect(result.job).toMatchObject({ marking_number: number, weight: 2 });
  });

  // evidence: marking-number-path-dots
  it("may consist of dots, which are not resolved", async () => {
    expect(expectData(await exactly("/v1/jobs/by-marking/..")).marking_number).toBe("..");
    expect(expectData(await exactly("/v1/jobs/by-marking/%2e%2E")).marking_number).toBe("..");
  });

  // evidence: marking-number-exact-match
  it("returns 404 if it is only similar", async () => {
    for (const number of ["Case", "case ", " case", "padded", "e", "a%2Fb"])
      expectFailure(await getJob(app, agent, number), 404);
  });
});

it.each(["/v1/jobs/by-marking", "/v1/jobs/by-marking/?dry_run=true"])(
  "returns 400 without a Marking Number for %s",
  async (path) => {
    for (const response of [await patchExactly(path), await exactly(path)]) {
      expectProblems(response, "path", ["markingNumber"]);
    }
  },
);

it("returns 400 for a Marking Number of more than 120 code points or with U+0000", async () => {
  for (const number of ["📦".repeat(121), "a\0b"]) {
    expectProblems(await patchJob(app, agent, number, { weight: 1 }), "path", ["markingNumber"]);
    expectProblems(await getJob(app, agent, number), "path", ["markingNumber"]);
  }
});

it.each(["%zz", "%ff", "a%"])("returns 400 for invalid percent-encoding: %s", async (text) => {
  for (const suffix of ["", "/history"])
    expectFailure(await exactly(`/v1/jobs/by-marking/${text}${suffix}`), 400);
  expectFailure(await patchExactly(`/v1/jobs/by-marking/${text}`), 400);
});

it("returns 404 with one slash too many", async () => {
  for (const path of [
    "/v1/jobs/by-marking/a/b",
    "/v1/jobs//by-marking/a",
    "/v1/jobs/by-marking/a/history/x",
    "/v1/Jobs",
  ]) {
    expectFailure(await exactly(path), 404);
  }
});
