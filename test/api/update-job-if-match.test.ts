import { beforeAll, describe, expect, it } from "vitest";
import { expectData, expectFailure, expectProblems } from "../support/app/assertions.ts";
import { getJob, patchJob } from "../support/app/job-client.ts";
import type { TestOrganization } from "../support/app/app.fixture.ts";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";
import type { ApiResponse } from "../support/app/app-instance.ts";

let app: SharedApp;
let agent: TestOrganization;

beforeAll(async () => {
  app = await sharedApp("api");
  agent = await app.createOrganization("agent");
});

/** Creates a job at version 3. */
async function jobAtVersion3(): Promise<string> {
  const [number = ""] = await app.createJobs(agent, [{}]);
  expectData(await patchJob(app, agent, number, { piece_quantity: 1 }));
  expectData(await patchJob(app, agent, number, { piece_quantity: 2 }));
  return number;
}

function patchIf(number: string, tag: string, body: unknown = { piece_quantity: 9 }): Promise<ApiResponse> {
  return patchJob(app, { ...agent, headers: { "if-match": tag } }, number, body);
}

describe("ETag and If-Match", () => {
  describe("200 if If-Match allows the version", () => {
    it.each(['"3"', "*", '"1", "3"', 'W/"9", "3"'])("%s", async (tag) => {
      const number = await jobAtVersion3();
      const response = await patchIf(number, tag);
      expect(expectData(response).piece_quantity).toBe(9);
      expect(response.headers.get("etag")).toBe('"4"');
    });

    it("an unchanged update keeps the version, so the same If-Match stays valid", async () => {
      const number = await jobAtVersion3();
      for (let time = 0; time < 2; time += 1) {
        expect((await patchIf(number, '"3"', { piece_quantity: 2 })).headers.get("etag")).toBe('"3"');
      }
    });
  });

  describe("412 with the current ETag if If-Match names another version, and no change", () => {
    it.each(['"2"', '"1", "4"', 'W/"3"', '"03"', '"x"', '"99999999999999999999"', '"a,3"'])(
      "for %s",
      async (tag) => {
        const number = await jobAtVersion3();
        const error = expectFailure(await patchIf(number, tag), 412);
        expect(error.details).toEqual({ current_etag: '"3"' });
        const job = await getJob(app, agent, number);
        expect({ pieces: job.body.data.piece_quantity, etag: job.headers.get("etag") }).toEqual({
          pieces: 2,
          etag: '"3"',
        });
      },
    );

    it("also for an update that would change nothing", async () => {
      expectFailure(await patchIf(await jobAtVersion3(), '"2"', { piece_quantity: 2 }), 412);
    });
  });

  describe("400 for a malformed If-Match, and no change", () => {
    it.each(["3", "", '"3', '"3" "4"', '*, "3"', 'w/"3"'])("%s", async (tag) => {
      const number = await jobAtVersion3();
      const [problem] = expectProblems(await patchIf(number, tag), "header", ["If-Match"]);
      expect(problem?.code).toBe("malformed");
      expect((await getJob(app, agent, number)).body.data.piece_quantity).toBe(2);
    });
  });
});
