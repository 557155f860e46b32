import { describe, expect, it } from "vitest";
import { expectData, expectProblems } from "../support/app/assertions.ts";
import { filledPatch, listJobs } from "../support/app/job-client.ts";
import { toTypedId } from "../../src/core/ids.ts";
import { useSharedApp } from "../support/app/shared-app.ts";

const { app, agent } = useSharedApp();

const tooLong = (length: number): string => "x".repeat(length);

// evidence: job-response-fields-exact
it("returns exactly the fields of Job, to the agent and the contractor", async () => {
  const owner = await app.createOrganization("agent");
  const contractor = await app.createOrganization("contractor");
  const [number] = await app.createJobs(owner, [{ contractor, patch: filledPatch, providerStatus: "OFD" }]);

  const [job] = expectData(await listJobs(app, owner)).items;
  expect(job).toEqual({
    id: expect.stringMatching(/^job_[0-7][0-9A-HJKMNP-TV-Z]{25}$/),
    marking_number: number,
    ...filledPatch,
    provider_status: "OFD",
    created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    updated_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    agent: { id: toTypedId("org", owner.id), name: owner.name },
    contractor: { id: toTypedId("org", contractor.id), name: contractor.name },
    version: 2,
  });
  expect(expectData(await listJobs(app, contractor)).items).toEqual([job]);
});

/** Empty, repeated and undecodable ones: test/unit/api/query-string.test.ts. */
describe("400 for a malformed parameter of GET /v1/jobs", () => {
  it.each([
    ["page=0", ["page"]],
    ["page=-1", ["page"]],
    ["page=1.0", ["page"]],
    ["page=2147483648", ["page"]],
    ["page=+1", ["page"]],
    ["page_size=0", ["page_size"]],
    ["page_size=101", ["page_size"]],
    ["updated_at_from=2026-02-30", ["updated_at_from"]],
    ["updated_at_to=2026-11-10T00:00:00Z", ["updated_at_to"]],
    ["updated_at_to=10000-01-01", ["updated_at_to"]],
    ["scheduled_date_from=today", ["scheduled_date_from"]],
    ["scheduled_date_to=infinity", ["scheduled_date_to"]],
    ["updated_since=2026-11-10", ["updated_since"]],
    ["updated_since=2026-11-10T00:00:00", ["updated_since"]],
    ["updated_since=0000-01-01T00:00:00Z", ["updated_since"]],
    [`updated_since=2026-11-10T00:00:00.${"0".repeat(300)}Z`, ["updated_since"]],
    ["sort=marking_number", ["sort"]],
    [`marking_number=${tooLong(121)}`, ["marking_number"]],
    [`batch_number=${tooLong(121)}`, ["batch_number"]],
    [`group_code=${tooLong(121)}`, ["group_code"]],
    [`failure_reason=${tooLong(65)}`, ["failure_reason"]],
    [`q=${tooLong(256)}`, ["q"]],
    ["q=a%00b", ["q"]],
    ["cursor=x", ["cursor"]],
    ["normalized_status=failed,lost", ["normalized_status"]],
    ["normalized_status=failed,", ["normalized_status"]],
    ["normalized_status=failed&normalized_status=", ["normalized_status"]],
    ["category=open,opened", ["category[1]"]],
    [`category=${Array.from({ length: 101 }, () => "open").join(",")}`, ["category"]],
    ["agent_id=x", ["agent_id[0]"]],
    ["contractor_id=job_01KA2M8D6R4TX0VQ9ZC7JH3EWB,none", ["contractor_id[0]", "contractor_id[1]"]],
    ["created_at_from=2026-02-30&created_at_to=now", ["created_at_from", "created_at_to"]],
    [`provider_status=${tooLong(256)}`, ["provider_status"]],
    [`cursor=${tooLong(513)}`, ["cursor"]],
  ])("for %s", async (query, fields) => {
    expectProblems(await listJobs(app, agent, query), "query", fields);
  });

  it("for an unknown status code; codes are case-sensitive", async () => {
    for (const code of ["unheard_of", "Completed", "completed%20", "%F0%9F%93%A6"]) {
      const [problem] = expectProblems(await listJobs(app, agent, `normalized_status=${code}`), "query", [
        "normalized_status",
      ]);
      expect(problem?.code).toBe("unknown_status");
    }
  });

  it("with all problems, not only the first", async () => {
    const query =
      "page=0&page_size=101&sort=x&updated_at_from=never&q=&batch_number=a&batch_number=b&normalized_status=lost";
    const fields = ["page", "page_size", "sort", "updated_at_from", "q", "batch_number", "normalized_status"];
    expectProblems(await listJobs(app, agent, query), "query", fields);
  });

  it("but not for unknown parameters with any value, which X-Ignored-Parameters names", async () => {
    const unknown = "foo=1&foo=2&bar=&baz=%FF&PAGE=x&__proto__=1&&=&%FF=1&a%2Cb";
    const names = "foo, bar, baz, PAGE, __proto__, %EF%BF%BD, a%2Cb";
    const listed = await listJobs(app, agent, `${unknown}&marking_number=F-1`);
    expectData(listed);
    expect(listed.headers.get("x-ignored-parameters")).toBe(names);
    const refused = await listJobs(app, agent, `${unknown}&page=0`);
    expectProblems(refused, "query", ["page"]);
    expect(refused.headers.get("x-ignored-parameters")).toBe(names);
    expect((await listJobs(app, agent, "page=1")).headers.has("x-ignored-parameters")).toBe(false);
  });
});
