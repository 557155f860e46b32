import { expect, it } from "vitest";
import { toTypedId } from "../../src/core/ids.ts";
import { expectData, expectFailure } from "../support/app/assertions.ts";
import { jobPath, patchJob } from "../support/app/job-client.ts";
import { keyIdOf, type TestOrganization } from "../support/app/app.fixture.ts";
import { useSharedApp } from "../support/app/shared-app.ts";
import type { ApiResponse } from "../support/app/app-instance.ts";

const { app, agent, contractor } = useSharedApp();

function history({ key }: TestOrganization, number: string, query = ""): Promise<ApiResponse> {
  return app.call(`${jobPath(number)}/history?${query}`, { key });
}

const newJob = (): Promise<string> => app.createJob(agent, { patch: { weight: 1 } });

it("returns every change, newest first, with actor, request, time and old and new values", async () => {
  const number = await newJob();
  const patched = await patchJob(app, agent, number, { weight: 2, labels: "cold" });
  const completed = await patchJob(app, agent, number, { normalized_status: "completed", weight: 2 });

  const { items, pagination } = expectData(await history(agent, number));
  expect(pagination).toEqual({ page: 1, page_size: 10, total: 3 });
  const actor = { type: "key", id: toTypedId("key", await keyIdOf(app, agent)) };
  const id = expect.stringMatching(/^evt_[0-7][0-9A-HJKMNP-TV-Z]{25}$/);
  expect(items).toEqual([
    {
      id,
      type: "job.status_changed",
      sequence: 3,
      occurred_at: completed.body.data.updated_at,
      actor,
      request_id: completed.body.request_id,
      changes: { normalized_status: { from: "pending", to: "completed" } },
    },
    {
      id,
      type: "job.updated",
      sequence: 2,
      occurred_at: patched.body.data.updated_at,
      actor,
      request_id: patched.body.request_id,
      changes: { weight: { from: 1, to: 2 }, labels: { from: null, to: "cold" } },
    },
    {
      id,
      type: "job.created",
      sequence: 1,
      occurred_at: patched.body.data.created_at,
      actor: { type: "system", id: null },
      request_id: null,
      changes: {
        weight: { from: null, to: 1 },
        normalized_status: { from: null, to: "pending" },
        scheduled_delivery_pending: { from: null, to: false },
      },
    },
  ]);
});

it("returns an assignment as a separate change", async () => {
  const number = await newJob();
  await app.createJobs(agent, [{ markingNumber: number, contractor }]);
  const [assigned] = expectData(await history(contractor, number)).items;
  expect(assigned).toMatchObject({ type: "job.assigned", sequence: 2 });
  expect(assigned.changes.contractor_id).toEqual({ from: null, to: expect.stringMatching(/^org_/) });
});

it("returns pages, with a Link header", async () => {
  const number = await newJob();
  for (const pieces of [1, 2, 3, 4])
    expectData(await patchJob(app, agent, number, { piece_quantity: pieces }));
  const page = await history(agent, number, "page=2&page_size=2");
  expect(expectData(page).items.map((item: { sequence: number }) => item.sequence)).toEqual([3, 2]);
  expect(page.body.data.pagination).toEqual({ page: 2, page_size: 2, total: 5 });
  expect(page.headers.get("link")).toContain(`<${jobPath(number)}/history?page_size=2&page=3>; rel="next"`);
  expect(expectData(await history(agent, number, "page=9")).items).toEqual([]);
});

it("returns 404 for another organisation's and a lost job, as for an unknown one", async () => {
  const number = await newJob();
  expectFailure(await history(contractor, number), 404, "Delivery job not found");
  expectFailure(await history(agent, "NO-SUCH-JOB"), 404, "Delivery job not found");
  await app.createJobs(agent, [{ markingNumber: number, contractor }]);
  expectData(await history(contractor, number));
  const next = await app.createOrganization("contractor");
  await app.createJobs(agent, [{ markingNumber: number, contractor: next }]);
  expectFailure(await history(contractor, number), 404);
});
