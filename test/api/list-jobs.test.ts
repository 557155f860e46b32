import { beforeAll, describe, expect, it } from "vitest";
import { expectData } from "../support/app/assertions.ts";
import { listJobs, markingNumbersOf } from "../support/app/job-client.ts";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";

let app: SharedApp;

beforeAll(async () => {
  app = await sharedApp("api");
});

describe("GET /v1/jobs", () => {
  describe("200 with the jobs visible to the key's organisation", () => {
    it("returns all jobs of an agent, and the assigned jobs of a contractor", async () => {
      const [owner, outsider] = [
        await app.createOrganization("agent"),
        await app.createOrganization("agent"),
      ];
      const [contractor, idle] = [
        await app.createOrganization("contractor"),
        await app.createOrganization("contractor"),
      ];
      const own = await app.createJobs(owner, [{}, { contractor }]);
      await app.createJobs(outsider, [{}]);

      expect(new Set(markingNumbersOf(await listJobs(app, owner)))).toEqual(new Set(own));
      expect(markingNumbersOf(await listJobs(app, contractor))).toEqual([own[1]]);
      expect(markingNumbersOf(await listJobs(app, idle))).toEqual([]);
    });

    // evidence: job-response-fields-exact
    it("returns exactly the fields of Job and its version", async () => {
      const owner = await app.createOrganization("agent");
      const contractor = await app.createOrganization("contractor");
      const patch = {
        batch_number: "B-1",
        group_code: "EAST-2",
        piece_quantity: 3,
        labels: "fragile",
        pts: 12.5,
        weight: 8.25,
        recipient_name: "Harbour Street Bakery",
        recipient_contact: "+1 555 0134",
        delivery_address: "12 Harbour Street",
        postal_code: "049315",
        scheduled_date: "2026-11-24",
        instructions: "Ring twice",
        normalized_status: "completed",
        failure_reason: "other",
        scheduled_delivery_date: "2026-11-25",
        scheduled_delivery_pending: true,
      };
      const [number] = await app.createJobs(owner, [{ contractor, patch, providerStatus: "OFD" }]);

      const [job] = expectData(await listJobs(app, owner)).items;
      expect(job).toEqual({
        id: expect.stringMatching(/^job_[0-7][0-9A-HJKMNP-TV-Z]{25}$/),
        marking_number: number,
        ...patch,
        provider_status: "OFD",
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        updated_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        version: 2,
      });
      expect(expectData(await listJobs(app, contractor)).items).toEqual([job]);
    });

    it("is empty, with a total of 0, if no job is visible", async () => {
      const { items, pagination } = expectData(await listJobs(app, await app.createOrganization("agent")));
      expect(items).toEqual([]);
      expect(pagination).toEqual({ page: 1, page_size: 10, total: 0, next_cursor: null });
    });
  });
});
