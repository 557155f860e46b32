import fc from "fast-check";
import { expect, it } from "vitest";
import { jobFieldNames } from "../../src/jobs/fields.ts";
import { expectData } from "../support/app/assertions.ts";
import { validPatch } from "../support/app/arbitraries.ts";
import { getJob, historyOf, patchJob } from "../support/app/job-client.ts";
import { useSharedApp } from "../support/app/shared-app.ts";

type Job = Record<string, unknown>;

const { app, agent } = useSharedApp();

it("a random sequence of patches leaves the job, its versions and its history as a model predicts", async () => {
  const patches = fc.array(
    validPatch.filter((patch) => Object.keys(patch).length > 0),
    { minLength: 1, maxLength: 6 },
  );
  await fc.assert(
    fc.asyncProperty(patches, async (sequence) => {
      const [markingNumber = ""] = await app.createJobs(agent, [{}]);
      const model: Job = expectData(await getJob(app, agent, markingNumber));
      let version = 1;
      for (const patch of sequence) {
        // JSON has no negative zero.
        const sent = JSON.parse(JSON.stringify(patch)) as Job;
        const response = await patchJob(app, agent, markingNumber, sent);
        const isChange = Object.keys(sent).some((name) => sent[name] !== model[name]);
        version += isChange ? 1 : 0;
        if (isChange) Object.assign(model, sent, { version, updated_at: response.body.data.updated_at });
        expect(expectData(response)).toEqual(model);
        expect(response.headers.get("etag")).toBe(`"${version}"`);
      }
      expect(expectData(await getJob(app, agent, markingNumber))).toEqual(model);
      await expectHistoryToLeadTo(model, markingNumber, version);
    }),
    { numRuns: 30 },
  );
});

/** Applying all changes in order to an empty job results in the current job. */
async function expectHistoryToLeadTo(model: Job, markingNumber: string, version: number): Promise<void> {
  const history = await historyOf(app, agent, markingNumber);
  expect(history.map(({ sequence }) => sequence)).toEqual(
    Array.from({ length: version }, (_, index) => index + 1),
  );
  const state: Job = Object.fromEntries(jobFieldNames.map((name) => [name, null]));
  for (const { changes } of history) {
    for (const [name, { from, to }] of Object.entries(changes)) {
      expect(from).toEqual(state[name]);
      state[name] = to;
    }
  }
  expect(model).toMatchObject(state);
}
