/** The visibility rule as an SQL condition, as a MikroORM filter and in TypeScript: all three select the same jobs. */
import fc from "fast-check";
import { beforeAll, expect, it } from "vitest";
import { Job } from "../../../src/jobs/entity.ts";
import { visibleTo } from "../../../src/jobs/visibility.sql.ts";
import { newUuid } from "../../../src/core/ids.ts";
import { organizationTypes, systemActor, type Principal } from "../../../src/core/principal.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { canSee, useJobReadFixture } from "../../support/jobs/read.fixture.ts";

const reads = useJobReadFixture();
let organizationIds: string[];

beforeAll(async () => {
  const { agent, otherAgent, contractor, otherContractor, outsider, testAgent } = reads;
  organizationIds = [agent, otherAgent, contractor, otherContractor, outsider, testAgent].map(
    (one) => one.organizationId,
  );
});

const index = (max: number) => fc.nat({ max });
const TEST_AGENT = 5;
/** Any organisation as either type, also the wrong one, and one that does not exist. */
const principals: fc.Arbitrary<() => Principal> = fc.oneof(
  fc.constant(() => reads.operator),
  fc
    .record({ of: index(6), organizationType: fc.constantFrom(...organizationTypes) })
    .map(({ of, organizationType }) => () => ({
      organizationId: organizationIds[of] ?? newUuid(),
      organizationType,
      actor: systemActor,
    })),
);
const jobs = fc.array(
  fc.record({ agent: fc.constantFrom(0, 1, TEST_AGENT), contractor: fc.option(fc.constantFrom(2, 3)) }),
  {
    maxLength: 6,
  },
);

it("is the same rule in SQL, in MikroORM and in TypeScript", async () => {
  await fc.assert(
    fc.asyncProperty(jobs, principals, async (owners, principalOf) => {
      const principal = principalOf();
      const inserted = await reads.insert(
        owners.map(({ agent, contractor }) => ({
          agent_id: organizationIds[agent] as string,
          contractor_id: contractor === null ? null : (organizationIds[contractor] as string),
        })),
      );
      const rows = inserted.map((row, at) => ({ ...row, is_test: owners[at]?.agent === TEST_AGENT }));
      const ids = rows.map(({ id }) => id);
      const idsWhere = async (condition: ReturnType<typeof visibleTo>) =>
        (
          await reads.database.query<{ id: string }>(
            sql`select id from job where id = any(${ids}::uuid[]) and ${condition} order by id`,
          )
        ).map(({ id }) => id);
      const found = await reads.database
        .em()
        .find(Job, { id: { $in: ids } }, { filters: { visibleTo: { principal } }, orderBy: { id: "asc" } });

      const expected = rows
        .filter((row) => (principal.organizationId === null ? !row.is_test : canSee(principal, row)))
        .map(({ id }) => id);
      expect(await idsWhere(visibleTo(principal))).toEqual(expected.toSorted());
      expect(found.map(({ id }) => id)).toEqual(expected.toSorted());
    }),
    { numRuns: 100 },
  );
});

it("fails in MikroORM without a principal", async () => {
  const found = reads.database.em().find(Job, {}, { filters: { visibleTo: true } });
  await expect(found).rejects.toThrow("No arguments provided for filter");
});

it("compares each job with a hash of the test organisations for an operator, not with all of them", async () => {
  const plan = await reads.database.query(
    sql`explain select count(*) from job where ${visibleTo(reads.operator)}`,
  );
  expect(JSON.stringify(plan)).toContain("hashed SubPlan");
});
