/** The rules of an import by a user of an agent. */
import { describe, expect, it } from "vitest";
import { toTypedId } from "../../../src/core/ids.ts";
import type { OrganizationPrincipal } from "../../../src/core/principal.ts";
import { ImportService } from "../../../src/jobs/import-export/import.ts";
import { countsOf, problemsOf, useJobImportFixture } from "../../support/jobs/import.fixture.ts";
import { newMarkingNumber } from "../../support/jobs/service.fixture.ts";

const { services, organization, importFile, makeJob, readJob } = useJobImportFixture();

const importer = (): OrganizationPrincipal => ({
  organizationId: organization.agent,
  organizationType: "agent",
  actor: { type: "user", id: null },
});
const importOwn = (file: string, options = {}) => importFile(file, { ...options, importer: importer() });

describe("an import by an agent", () => {
  it("creates and updates its own jobs, whether or not the file names it", async () => {
    const [known, first, second] = [await makeJob(), newMarkingNumber(), newMarkingNumber()];
    const result = await importOwn(`marking_number,weight\n${known},1\n${first},2\n`);
    expect(countsOf(result)).toEqual([1, 1, 0, 0]);
    const named = `marking_number,agent\n${second},"Agent Ä, Ltd"\n${first},${toTypedId("org", organization.agent)}\n`;
    expect(countsOf(await importOwn(named))).toEqual([1, 0, 1, 0]);
    for (const number of [first, second])
      expect(await readJob(number)).toMatchObject({ agent_id: organization.agent });
  });

  // evidence: import-by-agent-own-jobs
  it("creates no job for another agent, and does not change its jobs", async () => {
    const theirs = await makeJob({}, { agentId: organization.rival });
    const result = await importOwn(
      `marking_number,agent,weight\n${newMarkingNumber()},Rival,1\n${theirs},,2\n`,
    );
    expect(problemsOf(result)).toEqual([
      [2, "agent", "is not your organisation; leave the column out"],
      [3, "marking_number", "belongs to a job of another agent"],
    ]);
    expect(await readJob(theirs)).toMatchObject({ agent_id: organization.rival, weight: null, version: 1 });
    await expect(importOwn("marking_number\nA\n", { agent: "Rival" })).rejects.toThrow(
      "not your organisation",
    );
  });

  it("names only contractors of its jobs, and learns nothing of others", async () => {
    await makeJob({}, { contractorId: organization.contractor });
    await makeJob({}, { agentId: organization.rival, contractorId: organization.other });
    const numbers = [newMarkingNumber(), newMarkingNumber(), newMarkingNumber(), newMarkingNumber()];
    const names = ["Swift", "Other", "Unknown", "Rival"];
    const rows = numbers.map((number, index) => `${number},${names[index]}\n`).join("");
    const result = await importOwn(`marking_number,contractor\n${rows}`);
    expect(problemsOf(result)).toEqual(
      names
        .slice(1)
        .map((name, index) => [
          index + 3,
          "contractor",
          `None of your jobs has the contractor "${name}"; ask the operator to assign the first one`,
        ]),
    );
    expect(await readJob(numbers[0] as string)).toMatchObject({ contractor_id: organization.contractor });
    await expect(importOwn("marking_number\nA\n", { contractor: "Other" })).rejects.toThrow(
      "None of your jobs",
    );
  });

  it("waits for another import of the agent", async () => {
    const imports = new ImportService(services());
    const context = { actor: importer().actor, requestId: null, ipAddress: null, principal: importer() };
    const run = (chunks: AsyncIterable<Uint8Array>) =>
      imports.run(context, { format: "csv", dryRun: true }, { chunks, signal: new AbortController().signal });
    const { promise: end, resolve: finish } = Promise.withResolvers<void>();
    const rows = Array.from({ length: 1_001 }, () => `${newMarkingNumber()}\n`).join("");
    const slow = run(
      (async function* () {
        yield Buffer.from(`marking_number\n${rows}`);
        await end;
      })(),
    );
    let hasStarted = false;
    const first = slow.next();
    const second = Array.fromAsync(
      run(
        (async function* () {
          hasStarted = true;
          yield Buffer.from(`marking_number\n${newMarkingNumber()}\n`);
        })(),
      ),
    );
    await first;
    expect(hasStarted).toBe(false);
    finish();
    await Array.fromAsync(slow);
    expect(await second).toMatchObject([{ type: "progress" }, { type: "report", counts: { created: 1 } }]);
  });

  it("does not set the carrier's status", async () => {
    const result = await importOwn(`marking_number,provider_status\n${newMarkingNumber()},Sorted\n`);
    expect(problemsOf(result)).toEqual([
      [2, "provider_status", "is set by the operator; leave the column out"],
    ]);
  });
});
