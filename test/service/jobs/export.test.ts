import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { exportJobs, type JobExport } from "../../../src/jobs/import-export/export.ts";
import { jobFieldNames } from "../../../src/jobs/fields.ts";
import { upsertRows } from "../../../src/jobs/update/upsert.sql.ts";
import { newUuid, toTypedId } from "../../../src/core/ids.ts";
import { systemPrincipal } from "../../../src/core/principal.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { context, countsOf, problemsOf, useJobImportFixture } from "../../support/jobs/import.fixture.ts";
import { newMarkingNumber } from "../../support/jobs/service.fixture.ts";

const { database, services, organization, importFile, makeJob } = useJobImportFixture();

async function exported(query: Pick<JobExport, "filter" | "format">): Promise<string> {
  const order = { field: "id", descending: false } as const;
  let file = "";
  for await (const { text } of exportJobs(database(), systemPrincipal, { ...query, order })) file += text;
  return file;
}

describe("an export", () => {
  it("contains every job once, oldest first", async () => {
    const numbers = Array.from({ length: 2_300 }, newMarkingNumber);
    const [agent, ...rows] = ["Exporter", ...numbers.map((number) => `${number},Exporter`)];
    const { id } = await services().organizations.create({ name: agent, type: "agent" });
    await importFile(`marking_number,agent\n${rows.join("\n")}\n`, {});
    const lines = (await exported({ format: "csv", filter: { agentId: [id] } }))
      .trimEnd()
      .split("\n")
      .slice(1);
    expect(lines.length).toBe(2_300);
    const oldestFirst = await database().query<{ marking_number: string }>(
      sql`select marking_number from job where agent_id = ${id} order by id`,
    );
    expect(lines.map((line) => line.split(",")[0])).toEqual(oldestFirst.map((job) => job.marking_number));
    expect(oldestFirst.map((job) => job.marking_number).toSorted()).toEqual(numbers.toSorted());
    expect(
      (await exported({ format: "ndjson", filter: { agentId: [id] } })).trimEnd().split("\n").length,
    ).toBe(2_300);
  });

  it("filters by agent, contractor and status", async () => {
    const number = await makeJob(
      { normalized_status: "returned" },
      { agentId: organization.rival, contractorId: organization.other },
    );
    await makeJob({ normalized_status: "returned" }, { agentId: organization.rival });
    await makeJob({}, { agentId: organization.rival, contractorId: organization.other });
    const filter = {
      normalizedStatus: { eq: "returned" },
      agentId: [organization.rival],
      contractorId: [organization.other],
    };
    const text = await exported({ format: "ndjson", filter });
    expect(
      text
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ).toEqual([
      {
        marking_number: number,
        agent: toTypedId("org", organization.rival),
        contractor: toTypedId("org", organization.other),
        ...Object.fromEntries(jobFieldNames.map((name) => [name, null])),
        normalized_status: "returned",
        scheduled_delivery_pending: false,
        provider_status: null,
      },
    ]);
    expect(await exported({ format: "csv", filter: { agentId: [newUuid()] } })).toBe(
      `marking_number,agent,contractor,${jobFieldNames.join(",")},provider_status\n`,
    );
  });

  it("changes nothing when it is imported again, for any field values", async () => {
    const nasty = [
      null,
      "",
      " ",
      '"',
      '""',
      "'",
      ",",
      ";",
      "\n",
      "\r",
      "\r\n",
      "a,b",
      "\uFEFFbom",
      "𝒳é",
      "\uFFFD",
      "=1+1",
      "'=1+1",
      "''+65 1",
      "-1",
      "null",
      "true",
      "\\N",
      "\u2028",
      "\t",
    ];
    const anyText = fc
      .oneof(fc.constantFrom(...nasty), fc.string({ unit: "binary", maxLength: 50 }))
      .filter((text) => text === null || !text.includes("\0"));
    const anyNumber = fc.oneof(
      fc.constantFrom(null, 1e21, 1e-7, 0.1, 5e-324, Number.MAX_VALUE, -1.5, 24188385473180310),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
    );
    const anyDate = fc.constantFrom(null, "0001-01-01", "2024-02-29", "9999-12-31");
    const anyJob = fc.record({
      // A Marking Number with control characters cannot be imported.
      suffix: anyText.map((text) => text?.replaceAll(/\p{Cc}/gu, "") ?? null),
      contractorId: fc.constantFrom(null, organization.contractor),
      providerStatus: anyText,
      patch: fc.record({
        batch_number: anyText,
        group_code: anyText,
        piece_quantity: fc.option(fc.integer({ min: 1, max: 2_147_483_647 })),
        labels: anyText,
        pts: anyNumber,
        weight: anyNumber,
        recipient_name: anyText,
        recipient_contact: anyText,
        delivery_address: anyText,
        postal_code: anyText,
        scheduled_date: anyDate,
        instructions: anyText,
        normalized_status: fc.constantFrom("pending", "completed"),
        failure_reason: anyText,
        scheduled_delivery_date: anyDate,
        scheduled_delivery_pending: fc.boolean(),
      }),
    });
    const { id: agentId } = await services().organizations.create({ name: 'Nasty "Jobs"', type: "agent" });
    await fc.assert(
      fc.asyncProperty(fc.array(anyJob, { minLength: 1, maxLength: 8 }), async (jobs) => {
        await database().query(sql`delete from job where agent_id = ${agentId}`);
        const upserts = jobs.map(({ suffix, ...job }) => ({
          ...job,
          agentId,
          markingNumber: `${suffix ?? ""}${newMarkingNumber()}`,
        }));
        await database().transaction((tx) => upsertRows(tx, upserts, context));
        const rows = () => database().query(sql`select * from job where agent_id = ${agentId} order by id`);
        const before = await rows();
        // A spreadsheet that saves a file drops a byte order mark, or adds one.
        for (const format of ["csv", "ndjson"] as const)
          for (const mark of ["", "\uFEFF"]) {
            const file = await exported({ format, filter: { agentId: [agentId] } });
            const saved = mark + file.replace(/^\uFEFF/, "");
            const result = await importFile(saved, {}, format === "ndjson" ? "ndjson" : "csv");
            expect(problemsOf(result)).toEqual([]);
            expect(countsOf(result)).toEqual([0, 0, jobs.length, 0]);
          }
        expect(await rows()).toEqual(before);
      }),
      { numRuns: 30 },
    );
  });
});
