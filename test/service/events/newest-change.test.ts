import { beforeAll, expect, it } from "vitest";
import { newestChange } from "../../../src/events/feed.sql.ts";
import { upsertRows } from "../../../src/jobs/update/upsert.sql.ts";
import { systemActor, type OrganizationPrincipal } from "../../../src/core/principal.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { newMarkingNumber, useJobServiceFixture } from "../../support/jobs/service.fixture.ts";

const services = useJobServiceFixture();
let agent: OrganizationPrincipal;
let contractor: OrganizationPrincipal;

beforeAll(async () => {
  [agent, contractor] = await Promise.all([
    services.createOrganization("agent"),
    services.createOrganization("contractor"),
  ]);
});

/** Creates a job of the agent and returns the transaction id. */
async function change(contractorId?: string): Promise<bigint> {
  return await services.database.transaction(async (tx) => {
    const job = { markingNumber: newMarkingNumber(), agentId: agent.organizationId, contractorId, patch: {} };
    await upsertRows(tx, [job], { actor: systemActor, requestId: null });
    const [row] = await tx.query<{ own: string }>(sql`select pg_current_xact_id()::text as own`);
    return BigInt(row?.own ?? 0);
  });
}

const newest = ({ organizationId }: OrganizationPrincipal): Promise<bigint> =>
  newestChange(services.database, organizationId);

it("is that of the organisation's jobs, and 0 without jobs", async () => {
  expect(await Promise.all([newest(agent), newest(contractor)])).toEqual([0n, 0n]);
  const first = await change(contractor.organizationId);
  expect(await Promise.all([newest(agent), newest(contractor)])).toEqual([first, first]);
  const second = await change();
  expect(await Promise.all([newest(agent), newest(contractor)])).toEqual([second, first]);
});
