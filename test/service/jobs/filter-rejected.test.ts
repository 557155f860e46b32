/** Validation of job filters: invalid ones are rejected, and PostgreSQL accepts every valid one. */
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { createJobReferenceData } from "../../../src/jobs/reference-data.ts";
import { validateFilter } from "../../../src/jobs/list/filter-validation.ts";
import { filterToSql, type JobFilterTree } from "../../../src/jobs/list/filter.sql.ts";
import { AppError, type Problem } from "../../../src/core/errors.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { useJobReadFixture } from "../../support/jobs/read.fixture.ts";

const reads = useJobReadFixture();

beforeAll(async () => {
  await reads.insert([{ weight: 1, scheduled_date: "2026-05-01" }, { weight: -1 }]);
});

async function matching(condition: JobFilterTree): Promise<string[]> {
  const rows = await reads.database.query<{ id: string }>(
    sql`select id from job where ${filterToSql(condition)}`,
  );
  return rows.map((row) => row.id);
}

const problemsOf = async (condition: JobFilterTree): Promise<string[]> => {
  const error = await validateFilter(createJobReferenceData(reads.database), condition).catch(
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(AppError);
  expect((error as AppError).code).toBe("BadRequestException");
  const problems = (error as AppError).details as Problem[];
  expect(problems.every(({ location }) => location === "query")).toBe(true);
  return problems.map(({ field, code }) => `${field} ${code}`);
};
const many = (count: number, condition: JobFilterTree): JobFilterTree => ({
  or: Array.from({ length: count }, () => condition),
});

describe("a filter is rejected with", () => {
  it.each<[string, JobFilterTree, string]>([
    ["an unknown status", { normalizedStatus: { eq: "nope" } }, ".normalizedStatus.eq unknown_status"],
    [
      "an unknown status deep in the tree",
      { or: [{}, {}, { normalizedStatus: { in: ["pending", "nope"] } }] },
      ".or.2.normalizedStatus.in unknown_status",
    ],
    ["U+0000", { not: { search: "a\0" } }, ".not.search invalid_value"],
    ["U+0000 in a status", { normalizedStatus: { eq: "\0" } }, ".normalizedStatus.eq invalid_value"],
    [
      "a lone surrogate",
      { and: [{ batchNumber: { in: ["x", "\ud800"] } }] },
      ".and.0.batchNumber.in invalid_value",
    ],
    [
      "a text longer than any column",
      { groupCode: { startsWith: "x".repeat(1001) } },
      ".groupCode.startsWith too_big",
    ],
    ["a search of 256 characters that is no list", { search: "x".repeat(256) }, ".search too_big"],
    ["an invalid number", { weight: { gt: Number.NaN } }, ".weight.gt invalid_type"],
    [
      "an infinite number",
      { pieceQuantity: { lt: Number.NEGATIVE_INFINITY } },
      ".pieceQuantity.lt invalid_type",
    ],
    ["an invalid date", { scheduledDate: { eq: "2026-02-30" } }, ".scheduledDate.eq invalid_format"],
    [
      "an invalid instant",
      { createdAt: { gte: "0000-01-01T00:00:00.000Z" } },
      ".createdAt.gte invalid_value",
    ],
    ["an invalid id", { agentId: ["org"] }, ".agentId invalid_format"],
    ["an empty list", { contractorId: [] }, ".contractorId too_small"],
    [
      "a list of 101 items",
      { batchNumber: { in: Array.from({ length: 101 }, String) } },
      ".batchNumber.in too_big",
    ],
    ["21 conditions", many(21, { isLate: true }), " too_big"],
    ["21 empty conditions", many(21, {}), " too_big"],
    ["21 comparisons of one column", many(7, { weight: { gt: 1, lt: 5, isNull: false } }), " too_big"],
    ["4 nested levels", { not: { and: [{ or: [{ not: {} }] }] } }, ".not.and.0.or.0.not too_big"],
  ])("%s", async (_name, condition, problem) => {
    expect(await problemsOf(condition)).toEqual([`filter${problem}`]);
  });

  it("every problem of the filter", async () => {
    const condition = {
      search: "\0",
      or: [{ normalizedStatus: { eq: "nope" } }, { weight: { eq: Number.NaN } }],
    };
    expect(await problemsOf(condition)).toHaveLength(3);
  });
});

describe("a filter is accepted with", () => {
  it.each<[string, JobFilterTree]>([
    ["no conditions", {}],
    ["20 conditions", { or: Array.from({ length: 20 }, () => ({ isLate: true })) }],
    ["3 nested levels", { not: { and: [{ or: [{ isLate: false }] }] } }],
    ["a list of 100", { normalizedStatus: { in: Array.from({ length: 100 }, () => "pending") } }],
    ["the first and the last day", { scheduledDate: { gte: "0001-01-01", lte: "9999-12-31" } }],
    [
      "the first and the last instant",
      { createdAt: { gte: "0001-01-01T00:00:00.000Z", lte: "9999-12-31T23:59:59.999Z" } },
    ],
    ["the largest numbers", { weight: { lte: Number.MAX_VALUE, gt: -Number.MAX_VALUE, lt: 5e-324 } }],
  ])("%s", async (_name, condition) => {
    await validateFilter(createJobReferenceData(reads.database), condition);
    expect((await matching(condition)).length).toBeGreaterThan(0);
  });

  it("any values, and PostgreSQL can run it", async () => {
    const anyText = fc.oneof(fc.string({ unit: "binary", maxLength: 50 }), fc.string());
    const whole = fc.record(
      {
        markingNumber: fc.record(
          { startsWith: anyText, in: fc.array(anyText, { maxLength: 3 }) },
          { requiredKeys: [] },
        ),
        groupCode: fc.record({ startsWith: anyText, eq: anyText }, { requiredKeys: [] }),
        search: anyText,
        weight: fc.record({ gt: fc.double(), eq: fc.double() }, { requiredKeys: [] }),
        scheduledDate: fc.record({ gt: fc.oneof(anyText, fc.date().map(String)) }),
        createdAt: fc.record({
          lt: fc.oneof(
            anyText,
            fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
          ),
        }),
        agentId: fc.array(fc.oneof(anyText, fc.uuid()), { maxLength: 3 }),
      },
      { requiredKeys: [] },
    );
    const part = (name: string) =>
      whole.map((condition) => ({ [name]: condition[name as keyof typeof condition] }));
    const hostile = fc.oneof(
      ...["markingNumber", "groupCode", "search", "weight", "scheduledDate", "createdAt", "agentId"].map(
        part,
      ),
    );
    let passed = 0;
    await fc.assert(
      fc.asyncProperty(hostile, async (condition) => {
        const refused = await validateFilter(createJobReferenceData(reads.database), condition).then(
          () => false,
          (error: unknown) => error instanceof AppError && error.status === 400,
        );
        if (refused) return;
        passed += 1;
        await matching(condition);
      }),
      { numRuns: 300 },
    );
    expect(passed).toBeGreaterThan(50);
  });
});
