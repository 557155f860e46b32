import { beforeAll, describe, expect, it } from "vitest";
import { expectData, expectFailure, withoutRequestId } from "../support/app/assertions.ts";
import { getJob, jobPath, listJobs } from "../support/app/job-client.ts";
import { useSharedApp } from "../support/app/shared-app.ts";

const { app, agent, contractor } = useSharedApp();
let number: string;

beforeAll(async () => {
  number = await app.createJob(agent, { contractor, patch: { weight: 1 } });
});

it("returns the job as in the list, with its ETag", async () => {
  const owner = await app.createOrganization("agent");
  const [own = ""] = await app.createJobs(owner, [{ contractor, patch: { weight: 1 } }]);
  const response = await getJob(app, owner, own);
  const listed = { ...expectData(response), version: 2 };
  expect(expectData(await listJobs(app, owner)).items).toEqual([listed]);
  expect(response.headers.get("etag")).toBe('"2"');
  expect(expectData(await getJob(app, contractor, own))).toEqual(response.body.data);
});

it("returns the same headers without a body for HEAD", async () => {
  const [got, head] = await Promise.all([
    app.request(jobPath(number), { key: agent.key }),
    app.request(jobPath(number), { key: agent.key, method: "HEAD" }),
  ]);
  expect(head.status).toBe(200);
  expect(head.text).toBeFalsy();
  for (const name of ["content-type", "content-length", "etag"]) {
    expect(head.get(name)).toBe(got.get(name));
  }
});

describe("304", () => {
  it.each(['"2"', 'W/"2"', '"1", W/"2"', "*"])(
    "for the matching If-None-Match %s, with GET and HEAD",
    async (known) => {
      for (const method of ["GET", "HEAD"]) {
        const headers = { "if-none-match": known };
        const path = `${jobPath(number)}?fields=id`;
        const response = await app.request(path, { key: agent.key, method, headers });
        expect(response.status).toBe(304);
        expect(response.get("x-ignored-parameters")).toBe("fields");
        expect(response.get("etag")).toBe('"2"');
        expect(response.text).toBeFalsy();
      }
    },
  );

  it.each(['"1"', "2", '"2x"', "x"])("is not returned for If-None-Match %s", async (known) => {
    const headers = { "if-none-match": known };
    const response = await app.request(jobPath(number), { key: agent.key, headers });
    expect(response.status).toBe(200);
  });

  it("is not returned for an invisible job, even for *", async () => {
    const headers = { "if-none-match": "*" };
    const response = await app.request(jobPath("NO-SUCH-JOB"), { key: agent.key, headers });
    expect(response.status).toBe(404);
  });
});

// evidence: get-job-hides-other-organizations
it("returns 404 for another organisation's job, with the same body as for an unknown job", async () => {
  const none = await getJob(app, contractor, "NO-SUCH-JOB");
  expectFailure(none, 404, "Delivery job not found");
  const [foreign = ""] = await app.createJobs(await app.createOrganization("agent"), [{}]);
  const [unassigned = ""] = await app.createJobs(agent, [{}]);
  for (const other of [foreign, unassigned])
    expect(withoutRequestId(await getJob(app, contractor, other))).toEqual(withoutRequestId(none));
});
