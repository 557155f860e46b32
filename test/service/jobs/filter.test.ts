/** Job filters in SQL, compared with a reference implementation in TypeScript, which takes due and late from the console. */
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { addDays, dueDay, isLate, today } from "../../../src/console/pages/jobs/job.due.ts";
import { filterToSql, type JobFilterTree } from "../../../src/jobs/list/filter.sql.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { useJobReadFixture, type JobReadFixture, type JobTableRow } from "../../support/jobs/read.fixture.ts";

const reads = useJobReadFixture();
let jobs: JobTableRow[];

const texts = Array.of(
  "",
  "a",
  "A",
  "ab",
  "a%",
  "a_b",
  "a\\",
  "aa",
  "b",
  "é",
  "\u{10FFFF}",
  "\u{10FFFF}b",
).concat("\uD7FF", "\uE000", "📦");
const codes = ["x", "y", "z"];
const statuses = ["pending", "in_transit", "completed", "failed", "returning", "cancelled"];
const categories = {
  pending: "open",
  in_transit: "in_progress",
  completed: "success",
  failed: "attention",
  returning: "return",
  cancelled: "cancelled",
} as const;
const day = today();
const dates = [addDays(day, -1), day, addDays(day, 1)];
const datesOrNull = [null, ...dates];
const instants = ["2026-05-01T00:00:00.000Z", "2026-05-01T00:00:00.001Z", "2026-05-02T12:30:00.250Z"];
const numbers = [1, 2, 2.5, -3, 1e300];

/** A seeded random picker, so that each run has the same jobs. */
function picker(): <Value>(values: readonly Value[]) => Value {
  let state = 42;
  return (values) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return values[Math.floor((state / 2_147_483_648) * values.length)] as (typeof values)[number];
  };
}

beforeAll(async () => {
  const { agent, otherAgent, contractor, otherContractor } = reads;
  const pick = picker();
  jobs = await reads.insert(
    // Each status with each combination of dates.
    Array.from({ length: 6 * 4 * 4 }, (_, index) => ({
      marking_number: `${pick(texts)}${index % 3 === 0 ? "" : "-"}${index}`,
      agent_id: pick([agent, otherAgent]).organizationId,
      contractor_id: pick([contractor.organizationId, otherContractor.organizationId, null]),
      batch_number: pick([...texts, null]),
      group_code: pick([...texts, null]),
      postal_code: pick([...texts, null]),
      recipient_name: pick([...texts, null, null]),
      delivery_address: pick(["1 Aa Street", "%", null]),
      normalized_status: statuses[index % 6] as string,
      failure_reason: pick([...codes, null]),
      provider_status: pick([...codes, null]),
      scheduled_date: datesOrNull[Math.floor(index / 6) % 4] as string | null,
      scheduled_delivery_date: datesOrNull[Math.floor(index / 24)] as string | null,
      piece_quantity: pick([1, 2, 3, null]),
      weight: pick([...numbers, null]),
      scheduled_delivery_pending: pick([true, false]),
      created_at: pick(instants),
      updated_at: pick(instants),
    })),
  );
});

/** The reference implementation of `filterToSql`. */
function matches(condition: JobFilterTree, job: JobTableRow): boolean {
  const { statusCategory, contractorId, agentId, search, and, or, not } = condition;
  const pending = condition.scheduledDeliveryPending ?? job.scheduled_delivery_pending;
  const isAssigned = job.contractor_id !== null;
  return (
    comparedColumns.every(([key, column]) => comparisonHolds(condition[key] as Comparison, job[column])) &&
    comparisonHolds(condition.dueDate as Comparison, dueDay(inConsole(job))) &&
    (!statusCategory || statusCategory.includes(categoryOf(job))) &&
    pending === job.scheduled_delivery_pending &&
    (!contractorId || (job.contractor_id !== null && contractorId.includes(job.contractor_id))) &&
    (condition.hasContractor ?? isAssigned) === isAssigned &&
    (!agentId || agentId.includes(job.agent_id)) &&
    (condition.isLate ?? isJobLate(job)) === isJobLate(job) &&
    (search === undefined || search === null || searchMatches(search, job)) &&
    (!and || and.every((inner) => matches(inner, job))) &&
    (!or || or.some((inner) => matches(inner, job))) &&
    (!not || !matches(not, job))
  );
}

const comparedColumns = [
  ["markingNumber", "marking_number"],
  ["batchNumber", "batch_number"],
  ["groupCode", "group_code"],
  ["postalCode", "postal_code"],
  ["recipientName", "recipient_name"],
  ["normalizedStatus", "normalized_status"],
  ["failureReason", "failure_reason"],
  ["providerStatus", "provider_status"],
  ["scheduledDate", "scheduled_date"],
  ["scheduledDeliveryDate", "scheduled_delivery_date"],
  ["createdAt", "created_at"],
  ["updatedAt", "updated_at"],
  ["pieceQuantity", "piece_quantity"],
  ["weight", "weight"],
] as const satisfies [keyof JobFilterTree, keyof JobTableRow][];

type Scalar = string | number;
type Comparison =
  | (Partial<Record<"eq" | "gte" | "gt" | "lte" | "lt", Scalar>> & {
      in?: Scalar[];
      startsWith?: string;
      isNull?: boolean;
    })
  | undefined;

function comparisonHolds(comparison: Comparison, value: Scalar | null): boolean {
  if (!comparison) return true;
  const { eq, gte, gt, lte, lt, in: list, startsWith, isNull } = comparison;
  const check = (operand: unknown, test: (value: Scalar) => boolean): boolean =>
    operand === undefined || (value !== null && test(value));
  return (
    check(eq, (actual) => actual === eq) &&
    check(gte, (actual) => actual >= (gte as Scalar)) &&
    check(gt, (actual) => actual > (gt as Scalar)) &&
    check(lte, (actual) => actual <= (lte as Scalar)) &&
    check(lt, (actual) => actual < (lt as Scalar)) &&
    check(list, (actual) => (list as Scalar[]).includes(actual)) &&
    check(startsWith, (actual) => String(actual).startsWith(startsWith as string)) &&
    (isNull === undefined || isNull === (value === null))
  );
}

const categoryOf = (job: JobTableRow) => categories[job.normalized_status as keyof typeof categories];
const inConsole = (job: JobTableRow) => ({
  scheduledDate: job.scheduled_date,
  scheduledDeliveryDate: job.scheduled_delivery_date,
  status: { category: categoryOf(job).toUpperCase() as Uppercase<ReturnType<typeof categoryOf>> },
});
const isJobLate = (job: JobTableRow): boolean => isLate(inConsole(job), day);

/** Without accents and phone numbers: `test/api/search-jobs.test.ts` has them. */
function searchMatches(search: string, job: JobTableRow): boolean {
  const fields = [job.marking_number, job.postal_code, job.recipient_name, job.delivery_address];
  const words = search.toLowerCase().split(" ");
  return words.every((word) => fields.some((field) => field?.toLowerCase().includes(word)));
}

const some = <Value>(...values: readonly Value[]) =>
  fc.array(fc.constantFrom(...values), { minLength: 1, maxLength: 3 });
const textCondition = fc.record(
  {
    eq: fc.constantFrom(...texts),
    in: some(...texts),
    startsWith: fc.constantFrom(...texts),
    isNull: fc.boolean(),
  },
  { requiredKeys: [] },
);
const codeCondition = (...values: string[]) =>
  fc.record(
    { eq: fc.constantFrom(...values), in: some(...values), isNull: fc.boolean() },
    { requiredKeys: [] },
  );
const range = <Value>(values: readonly Value[]) => {
  const value = fc.constantFrom(...values);
  return fc.record(
    { eq: value, gte: value, gt: value, lte: value, lt: value, isNull: fc.boolean() },
    { requiredKeys: [] },
  );
};

/** Filters with one or two keys, because filters with many keys seldom match a job. */
function leaf(): fc.Arbitrary<JobFilterTree> {
  const organizations = (...among: (keyof JobReadFixture)[]) =>
    some(...among.map((name) => (reads[name] as JobReadFixture["agent"]).organizationId));
  const parts = {
    markingNumber: textCondition,
    batchNumber: textCondition,
    groupCode: textCondition,
    postalCode: textCondition,
    recipientName: textCondition,
    normalizedStatus: codeCondition(...statuses),
    failureReason: codeCondition(...codes),
    providerStatus: codeCondition(...codes),
    scheduledDate: range(dates),
    scheduledDeliveryDate: range(dates),
    dueDate: range(dates),
    createdAt: range(instants),
    updatedAt: range(instants),
    pieceQuantity: range(numbers),
    weight: range(numbers),
    statusCategory: some(...Object.values(categories)),
    scheduledDeliveryPending: fc.boolean(),
    contractorId: organizations("contractor", "otherContractor", "outsider"),
    hasContractor: fc.boolean(),
    agentId: organizations("agent", "otherAgent", "outsider"),
    isLate: fc.boolean(),
    search: fc.constantFrom("a", "A", "a%", "_", "STREET aa", "street zz", "\\", "zz", "-1"),
  };
  const single = Object.entries(parts).map(([name, value]) =>
    (value as fc.Arbitrary<unknown>).map((given) => ({ [name]: given })),
  );
  return fc.oneof(
    ...single,
    fc.tuple(fc.oneof(...single), fc.oneof(...single)).map(([one, two]) => ({ ...one, ...two })),
  );
}

function trees(): fc.Arbitrary<JobFilterTree> {
  return fc.letrec<{ tree: JobFilterTree }>((tie) => {
    const list = fc.array(tie("tree"), { maxLength: 3 });
    const inner = fc.record({ and: list, or: list, not: tie("tree") }, { requiredKeys: [] });
    return {
      tree: fc.oneof(
        { depthSize: "small" },
        leaf(),
        fc.tuple(leaf(), inner).map(([own, below]) => ({ ...own, ...below })),
        inner,
      ),
    };
  }).tree;
}

/** With and without the index of the search. */
async function matching(condition: JobFilterTree): Promise<string[]> {
  const [indexed, byRow] = await Promise.all(
    [reads.operator, undefined].map((audience) =>
      reads.database.query<{ id: string }>(
        sql`select id from job where ${filterToSql(condition, audience)} order by id`,
      ),
    ),
  );
  expect(indexed).toEqual(byRow);
  return (byRow ?? []).map((row) => row.id);
}

const expected = (condition: JobFilterTree): string[] =>
  jobs
    .filter((job) => matches(condition, job))
    .map((job) => job.id)
    .toSorted();

describe("a filter", () => {
  it("matches the same jobs in PostgreSQL as in the reference implementation", async () => {
    await fc.assert(
      fc.asyncProperty(trees(), async (condition) => {
        expect(await matching(condition)).toEqual(expected(condition));
      }),
      { numRuns: 600 },
    );
  });

  it("finds the jobs late that are late in the console", async () => {
    const late = await matching({ isLate: true });
    expect(late).toEqual(expected({ isLate: true }));
    // Three unfinished categories: yesterday confirmed with any plan, or planned for yesterday and not confirmed.
    expect(late).toHaveLength(3 * (4 + 1));
  });

  it.each([
    ["no conditions", {}, true],
    ["an empty and", { and: [] }, true],
    ["an empty or", { or: [] }, false],
    ["the negation of no conditions", { not: {} }, false],
    [
      "null values, which are ignored,",
      { batchNumber: null, or: null, isLate: null, weight: { eq: null } },
      true,
    ],
  ] as const)("with %s matches all jobs or none", async (_name, condition, all) => {
    expect(await matching(condition as JobFilterTree)).toHaveLength(all ? jobs.length : 0);
  });

  // evidence: like-wildcards-escaped
  it("treats wildcards of LIKE in startsWith and search as text", async () => {
    const wild = await reads.insert([
      { marking_number: "50%_off\\", recipient_name: "50%_off\\" },
      { marking_number: "50xxoff", recipient_name: "50xxoff" },
    ]);
    const only = [wild[0]?.id];
    expect(await matching({ markingNumber: { startsWith: "50%_o" } })).toEqual(only);
    expect(await matching({ recipientName: { startsWith: "50%_off\\" } })).toEqual(only);
    expect(await matching({ search: "0%_off\\" })).toEqual(only);
    jobs.push(...wild);
  });

  it("searches digits in any spelling, with and without the index", async () => {
    const [phone] = await reads.insert([{ marking_number: "tel 2079460123" }]);
    expect(await matching({ search: "tel +44 (0)20 7946-0123" })).toEqual([phone?.id]);
    jobs.push(...(phone ? [phone] : []));
  });
});
