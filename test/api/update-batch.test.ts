import { beforeAll, describe, expect, it } from "vitest";
import { expectData } from "../support/app/assertions.ts";
import { getJob, patchBatch } from "../support/app/job-client.ts";
import type { TestOrganization } from "../support/app/app.fixture.ts";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";

let app: SharedApp;
let agent: TestOrganization;
let contractor: TestOrganization;

beforeAll(async () => {
  app = await sharedApp("api");
  [agent, contractor] = [await app.createOrganization("agent"), await app.createOrganization("contractor")];
});

function newJobs(count: number): Promise<string[]> {
  return app.createJobs(
    agent,
    Array.from({ length: count }, () => ({ contractor })),
  );
}

const problem = (field: string, code: string): object => ({
  location: "body",
  field,
  code,
  message: expect.any(String),
});

describe("PATCH /v1/jobs/batch", () => {
  describe("200 with one result per item, in order", () => {
    it("when some items fail, without affecting others", async () => {
      const [one = "", two = "", three = ""] = await newJobs(3);
      const [foreign = ""] = await app.createJobs(await app.createOrganization("agent"), [{}]);
      const items = [
        { marking_number: one, weight: 1 },
        { marking_number: "NO-SUCH-JOB", weight: 1 },
        { marking_number: two, normalized_status: "unheard_of", weight: 1 },
        { marking_number: foreign, weight: 1 },
        { marking_number: two, weight: "1", piece_quantity: 0 },
        { marking_number: three },
        { marking_number: three, provider_status: "X" },
        { marking_number: three, labels: "last" },
      ];
      const { updated_count, failed_count, results } = expectData(await patchBatch(app, agent, items));
      expect({ updated_count, failed_count }).toEqual({ updated_count: 2, failed_count: 6 });
      expect(results.map((result: { marking_number: string }) => result.marking_number)).toEqual(
        items.map((item) => item.marking_number),
      );
      expect(results.map((result: { success: boolean }) => result.success)).toEqual([
        true,
        false,
        false,
        false,
        false,
        false,
        false,
        true,
      ]);

      const notFound = {
        success: false,
        error: "Delivery job not found",
        error_code: "NotFoundException",
        error_details: null,
      };
      expect(results[1]).toEqual({ marking_number: "NO-SUCH-JOB", ...notFound });
      expect(results[3]).toEqual({ marking_number: foreign, ...notFound });
      const badRequest = { success: false, error: expect.any(String), error_code: "BadRequestException" };
      expect(results[2]).toEqual({
        marking_number: two,
        ...badRequest,
        error_details: [problem("jobs[2].normalized_status", "unknown_status")],
      });
      expect(results[4]).toEqual({
        marking_number: two,
        ...badRequest,
        error_details: [
          problem("jobs[4].piece_quantity", "too_small"),
          problem("jobs[4].weight", "invalid_type"),
        ],
      });
      const nothing = { ...badRequest, error: "No editable fields were provided", error_details: null };
      expect(results.slice(5, 7)).toEqual([
        { marking_number: three, ...nothing },
        { marking_number: three, ...nothing },
      ]);
      expect(expectData(await getJob(app, agent, two)).weight).toBeNull();
    });

    it("with ignored keys of all items in X-Ignored-Fields, each once, without marking_number", async () => {
      const [one, two] = await newJobs(2);
      const response = await patchBatch(app, agent, [
        { marking_number: one, weight: 1, id: "x", colour: 1 },
        { marking_number: two, weight: 1, colour: 2, size: 3 },
      ]);
      expectData(response);
      expect(response.headers.get("x-ignored-fields")).toBe("id, colour, size");
    });

    it("ignoring unknown keys next to `jobs`, which X-Ignored-Fields names too", async () => {
      const [number] = await newJobs(1);
      const body = JSON.stringify({ dry_run: true, jobs: [{ marking_number: number, weight: 5, size: 1 }] });
      const response = await app.call("/v1/jobs/batch", { key: agent.key, method: "PATCH", body });
      expect(expectData(response).updated_count).toBe(1);
      expect(response.headers.get("x-ignored-fields")).toBe("dry_run, size");
    });
  });
});
