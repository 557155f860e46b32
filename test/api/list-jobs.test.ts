import { randomBytes } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { sql } from "../../src/core/postgres/sql.ts";
import { expectData } from "../support/app/assertions.ts";
import { listJobs, markingNumbersOf } from "../support/app/job-client.ts";
import type { TestOrganization } from "../support/app/app.fixture.ts";
import { startAppInstance } from "../support/app/app-instance.ts";
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

    it("removes a job from a contractor's list when it is reassigned", async () => {
      const [former, next] = [
        await app.createOrganization("contractor"),
        await app.createOrganization("contractor"),
      ];
      const [number] = await app.createJobs(await app.createOrganization("agent"), [{ contractor: former }]);
      expect(markingNumbersOf(await listJobs(app, former))).toEqual([number]);

      const owner = await app.createOrganization("agent");
      const [reassigned] = await app.createJobs(owner, [{ contractor: former }]);
      await app.createJobs(owner, [{ markingNumber: reassigned as string, contractor: next }]);

      expect(markingNumbersOf(await listJobs(app, former))).toEqual([number]);
      expect(markingNumbersOf(await listJobs(app, next))).toEqual([reassigned]);
      expect((await listJobs(app, former)).body.data.pagination.total).toBe(1);
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

  describe("filters", () => {
    let owner: TestOrganization;
    const full = "A day's work at 50%_off\\";
    const run = randomBytes(4).toString("hex");
    /** Makes the Marking Numbers F-1, F-2 and f-2 those of this run. */
    const withRun = (text: string): string => text.replaceAll(/\b(f-)/gi, `$1${run}-`);

    beforeAll(async () => {
      owner = await app.createOrganization("agent");
      const jobs = [
        {
          markingNumber: "F-1",
          patch: {
            batch_number: "B-1",
            group_code: "EAST",
            scheduled_date: "2026-11-01",
            recipient_name: full,
          },
        },
        {
          markingNumber: "F-2",
          patch: {
            batch_number: "b-1",
            group_code: "EAST ",
            scheduled_date: "2026-11-02",
            normalized_status: "failed",
            failure_reason: "other",
            postal_code: "049315",
          },
        },
        {
          markingNumber: "f-2",
          patch: {
            batch_number: "B-10",
            normalized_status: "failed",
            delivery_address: "12 HARBOUR Street",
            postal_code: "1049315",
          },
        },
      ];
      await app.createJobs(
        owner,
        jobs.map((job) => ({ ...job, markingNumber: withRun(job.markingNumber) })),
      );
      await app.database.query(sql`
        update job set updated_at = given.at::timestamptz from (values
          (${withRun("F-1")}, '2026-11-10T00:00:00.000Z'), (${withRun("F-2")}, '2026-11-10T23:59:59.999Z'),
          (${withRun("f-2")}, '2026-11-11T00:00:00.000Z')
        ) given (number, at) where marking_number = given.number`);
    });

    it.each([
      ["marking_number=F-1", ["F-1"]],
      ["marking_number=F-2", ["F-2"]],
      ["marking_number=F-", []],
      ["marking_number=F-1%20", []],
      ["batch_number=B-1", ["F-1"]],
      ["batch_number=B-%31", ["F-1"]],
      ["group_code=EAST", ["F-1"]],
      ["group_code=EAST+", ["F-2"]],
      ["group_code=EAST%20", ["F-2"]],
      ["normalized_status=failed", ["F-2", "f-2"]],
      ["normalized_status=completed", []],
      ["failure_reason=other", ["F-2"]],
      ["failure_reason=Other", []],
      ["updated_at_from=2026-11-10&updated_at_to=2026-11-10", ["F-1", "F-2"]],
      ["updated_at_from=2026-11-11&updated_at_to=2026-11-11", ["f-2"]],
      ["updated_at_from=2026-11-11", ["f-2"]],
      ["updated_at_to=2026-11-10", ["F-1", "F-2"]],
      ["updated_at_to=2026-11-09", []],
      ["updated_at_from=2026-11-11&updated_at_to=2026-11-10", []],
      ["updated_at_from=0001-01-01&updated_at_to=9999-12-31", ["F-1", "F-2", "f-2"]],
      ["scheduled_date_from=2026-11-01&scheduled_date_to=2026-11-01", ["F-1"]],
      ["scheduled_date_from=2026-11-02", ["F-2"]],
      ["scheduled_date_to=2026-11-01", ["F-1"]],
      ["scheduled_date_from=0001-01-01&scheduled_date_to=9999-12-31", ["F-1", "F-2"]],
      ["scheduled_date_from=2026-11-02&scheduled_date_to=2026-11-01", []],
      ["updated_since=2026-11-10T23:59:59.999Z", ["F-2", "f-2"]],
      ["updated_since=2026-11-11T01:00:00%2B01:00", ["f-2"]],
      ["updated_since=2026-11-10T14:00:00.0000000-10:00", ["f-2"]],
      ["q=F-", ["F-1", "F-2"]],
      ["q=0493", ["F-2"]],
      ["q=harbour", ["f-2"]],
      ["q=DAY%27S", ["F-1"]],
      ["q=%25", ["F-1"]],
      ["q=%25_", ["F-1"]],
      ["q=0_o", []],
      ["q=off%5C", ["F-1"]],
      ["normalized_status=failed&failure_reason=other&updated_at_to=2026-11-10", ["F-2"]],
      ["normalized_status=failed&batch_number=B-1", []],
    ])("return the matching jobs: %s", async (query, expected) => {
      const response = await listJobs(app, owner, withRun(query));
      expect(markingNumbersOf(response).toSorted()).toEqual(expected.map(withRun));
      expect(expectData(response).pagination.total).toBe(expected.length);
    });

    it("ignores unknown parameters with any value", async () => {
      const response = await listJobs(
        app,
        owner,
        withRun("foo=1&foo=2&bar=&baz=%FF&PAGE=x&__proto__=1&&=&marking_number=F-1"),
      );
      expectData(response);
      expect(markingNumbersOf(response)).toEqual([withRun("F-1")]);
    });

    it("accepts a status that an operator has just added", async () => {
      // Its cache of statuses ends with it.
      await using instance = await startAppInstance(app.databaseUrl, { WAYMARK_ROLE: "api" });
      await app.database.query(sql`insert into job_status (code, label, category, position)
        values ('in_customs', 'In customs', 'in_progress', 99)`);
      try {
        expect(expectData(await listJobs(instance, owner, "normalized_status=in_customs")).items).toEqual([]);
      } finally {
        await app.database.query(sql`delete from job_status where code = 'in_customs'`);
      }
    });
  });
});
