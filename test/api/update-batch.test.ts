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
    it("when every item is updated", async () => {
      const numbers = await newJobs(3);
      const items = numbers.toReversed().map((marking_number, index) => ({ marking_number, weight: index }));
      const data = expectData(await patchBatch(app, contractor, items));
      expect(data).toMatchObject({ updated_count: 3, failed_count: 0 });
      for (const [index, { marking_number }] of items.entries()) {
        const job = expectData(await getJob(app, agent, marking_number));
        expect(data.results[index]).toEqual({ marking_number, success: true, job });
        expect(job.weight).toBe(index);
      }
    });

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

    it("with success true even if every item fails", async () => {
      const response = await patchBatch(app, agent, [
        { marking_number: "a", weight: 1 },
        { marking_number: "b" },
      ]);
      expect(expectData(response)).toMatchObject({ updated_count: 0, failed_count: 2 });
    });

    it("for 1 job and for 100", async () => {
      const numbers = await newJobs(100);
      const hundred = expectData(
        await patchBatch(
          app,
          agent,
          numbers.map((marking_number, index) => ({ marking_number, piece_quantity: index + 1 })),
        ),
      );
      expect(hundred).toMatchObject({ updated_count: 100, failed_count: 0 });
      expect(
        hundred.results.map((result: { job: { piece_quantity: number } }) => result.job.piece_quantity),
      ).toEqual(Array.from({ length: 100 }, (_, index) => index + 1));
      expect(
        expectData(await patchBatch(app, agent, [{ marking_number: numbers[0], weight: 3 }])).updated_count,
      ).toBe(1);
    });

    it("counting an unchanged item as updated, without a new version", async () => {
      const [number = ""] = await newJobs(1);
      const items = [{ marking_number: number, weight: 4 }];
      expectData(await patchBatch(app, agent, items));
      const before = await getJob(app, agent, number);
      expect(expectData(await patchBatch(app, agent, items))).toMatchObject({
        updated_count: 1,
        results: [{ job: before.body.data }],
      });
      expect((await getJob(app, agent, number)).headers.get("etag")).toBe(before.headers.get("etag"));
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

  describe("items with the same Marking Number", () => {
    it("are applied in order", async () => {
      const [one = "", two = ""] = await newJobs(2);
      const { updated_count, results } = expectData(
        await patchBatch(app, agent, [
          { marking_number: one, piece_quantity: 1, labels: "first" },
          { marking_number: two, piece_quantity: 9 },
          { marking_number: one, piece_quantity: 2 },
          { marking_number: one, labels: null },
        ]),
      );
      expect(updated_count).toBe(4);
      const seen = results.map(({ job }: { job: { piece_quantity: number; labels: string | null } }) => [
        job.piece_quantity,
        job.labels,
      ]);
      expect(seen).toEqual([
        [1, "first"],
        [9, null],
        [2, "first"],
        [2, null],
      ]);
      expect(expectData(await getJob(app, agent, one))).toEqual(results[3].job);
    });

    it("are all applied if one of them is invalid", async () => {
      const [number = ""] = await newJobs(1);
      const items = [1, 0, 3].map((pieces) => ({ marking_number: number, piece_quantity: pieces }));
      const { results } = expectData(await patchBatch(app, agent, items));
      expect(results.map((result: { success: boolean }) => result.success)).toEqual([true, false, true]);
      expect(expectData(await getJob(app, agent, number)).piece_quantity).toBe(3);
    });

    it("are applied a hundred times", async () => {
      const [number = ""] = await newJobs(1);
      const items = Array.from({ length: 100 }, (_, index) => ({
        marking_number: number,
        piece_quantity: index + 1,
      }));
      expect(expectData(await patchBatch(app, agent, items)).updated_count).toBe(100);
      const job = await getJob(app, agent, number);
      expect({ pieces: job.body.data.piece_quantity, etag: job.headers.get("etag") }).toEqual({
        pieces: 100,
        etag: '"102"',
      });
    });
  });
});
