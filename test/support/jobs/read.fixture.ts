/** A database with organisations that can see different jobs, for tests of job queries. */
import { entities } from "../../../src/app/entities.ts";
import { rebuildCounters } from "../../../src/jobs/counters/counters.sql.ts";
import { openDatabase } from "../../../src/core/postgres/database.ts";
import { newUuid } from "../../../src/core/ids.ts";
import {
  systemActor,
  type OperatorPrincipal,
  type OrganizationType,
  type OrganizationPrincipal,
} from "../../../src/core/principal.ts";
import { raw, sql } from "../../../src/core/postgres/sql.ts";
import type { Transaction } from "../../../src/core/postgres/transaction.ts";
import { createTestDatabase } from "../database/test-database.ts";
import { useFixture } from "../use-fixture.ts";

/** A row of the job table. Times are ISO 8601 with milliseconds. */
export interface JobTableRow {
  id: string;
  marking_number: string;
  agent_id: string;
  contractor_id: string | null;
  batch_number: string | null;
  group_code: string | null;
  piece_quantity: number | null;
  weight: number | null;
  recipient_name: string | null;
  delivery_address: string | null;
  postal_code: string | null;
  scheduled_date: string | null;
  normalized_status: string;
  failure_reason: string | null;
  scheduled_delivery_date: string | null;
  scheduled_delivery_pending: boolean;
  provider_status: string | null;
  version: number;
  created_at: string;
  updated_at: string;
}

export type JobReadFixture = Awaited<ReturnType<typeof openJobReadFixture>>;

/** Call once per test file, outside tests: registers the hooks for set-up and clean-up. Later hooks and tests can use the result. */
export const useJobReadFixture = (): JobReadFixture => useFixture(openJobReadFixture);

export const principalNames = [
  "agent",
  "otherAgent",
  "contractor",
  "otherContractor",
  "outsider",
  "operator",
] as const;

export async function openJobReadFixture() {
  const stack = new AsyncDisposableStack();
  const { url } = stack.use(await createTestDatabase());
  const session = { plan_cache_mode: "auto" };
  const database = stack.use(await openDatabase({ url, poolSize: 4, entities, session }));
  const organization = async (
    name: string,
    type: OrganizationType,
    liveOrganizationId?: string,
  ): Promise<OrganizationPrincipal> => {
    const id = newUuid();
    await database.query(sql`
      insert into organization (id, name, type, live_organization_id)
      values (${id}, ${name}, ${type}, ${liveOrganizationId ?? null})`);
    return { organizationId: id, organizationType: type, liveOrganizationId, actor: systemActor };
  };
  const agent = await organization("Agent", "agent");

  return {
    database,
    agent,
    otherAgent: await organization("Other agent", "agent"),
    contractor: await organization("Contractor", "contractor"),
    otherContractor: await organization("Other contractor", "contractor"),
    /** An organisation without jobs. */
    outsider: await organization("Outsider", "agent"),
    /** The test organisation of `agent`. */
    testAgent: await organization("Agent", "agent", agent.organizationId),
    operator: { organizationId: null, organizationType: null, actor: systemActor } as OperatorPrincipal,
    /** Inserts jobs, by default of `agent` and with null fields. */
    async insert(jobs: readonly Partial<JobTableRow>[]): Promise<JobTableRow[]> {
      const rows = jobs.map((job) => ({ ...newJob(agent.organizationId), ...job }));
      // In parts: a statement must not take longer than 10 s on a busy machine.
      for (let from = 0; from < rows.length; from += 2_000) {
        const part = JSON.stringify(rows.slice(from, from + 2_000));
        await database.query(
          sql`insert into job select (jsonb_populate_record(null::job, value)).* from jsonb_array_elements(${part}::jsonb)`,
        );
      }
      await database.transaction(rebuildCounters);
      return rows;
    },
    /** Runs `work` in a transaction in which PostgreSQL's clock shows `now`. */
    atTime<Result>(now: string, work: (tx: Transaction) => Promise<Result>): Promise<Result> {
      return database.transaction(async (tx) => {
        await tx.query(sql`create schema clock`);
        await tx.query(
          raw(
            `create function clock.now() returns timestamptz stable language sql as $$ select '${now}'::timestamptz $$`,
          ),
        );
        await tx.query(sql`set local search_path = clock, public, pg_catalog`);
        return await work(tx);
      }, "rollback");
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** True if `principal` must be able to see `job`. */
export function canSee(principal: OrganizationPrincipal | OperatorPrincipal, job: JobTableRow): boolean {
  if (principal.organizationId === null) return true;
  const owner = principal.organizationType === "agent" ? job.agent_id : job.contractor_id;
  return owner === principal.organizationId;
}

function newJob(agentId: string): JobTableRow {
  const id = newUuid();
  return {
    id,
    marking_number: `MN-${id}`,
    agent_id: agentId,
    contractor_id: null,
    batch_number: null,
    group_code: null,
    piece_quantity: null,
    weight: null,
    recipient_name: null,
    delivery_address: null,
    postal_code: null,
    scheduled_date: null,
    normalized_status: "pending",
    failure_reason: null,
    scheduled_delivery_date: null,
    scheduled_delivery_pending: false,
    provider_status: null,
    version: 1,
    created_at: "2026-05-01T00:00:00.000Z",
    updated_at: "2026-06-01T00:00:00.000Z",
  };
}
