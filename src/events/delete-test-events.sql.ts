/**
 * Deletes events of test organisations. Those of live ones are kept. In small transactions, because the feed hides the events of
 * all organisations that follow the oldest transaction in progress.
 */
import type { Queryable } from "../core/postgres/database.ts";
import type { OrganizationPrincipal } from "../core/principal.ts";
import { raw, sql, type Sql } from "../core/postgres/sql.ts";
import { visibleTo } from "../jobs/api.ts";

/** Of one test organisation. */
const MAX_TEST_EVENTS = 100_000;
const BATCH_SIZE = 5_000;

type TestOrganization = Pick<OrganizationPrincipal, "organizationId" | "organizationType">;

/** Deletes the events that the organisation can see and that match `condition`. Returns their number. */
async function deleteEventsOf(
  queryable: Queryable,
  organization: TestOrganization,
  condition: Sql,
): Promise<number> {
  let [total, count] = [0, BATCH_SIZE];
  while (count === BATCH_SIZE) {
    const deleted = await queryable.query(sql`
      delete from job_event where id = any(array(
        select id from job_event where ${visibleTo(organization, "job_event")} and ${condition}
        order by transaction_id, position limit ${BATCH_SIZE}::int)) returning 1`);
    count = deleted.length;
    total += count;
  }
  return total;
}

/** Returns the position of the newest event of all organisations. */
export async function lastPosition(queryable: Queryable): Promise<string> {
  const [row] = await queryable.query<{ position: string }>(
    raw("select last_value::text as position from job_event_position_seq"),
  );
  return row?.position ?? "0";
}

/**
 * Deletes the events up to `position` that a test agent and its contractor see, except `job.deleted`, which copies of the jobs still
 * have to read. Returns their number.
 */
export async function deleteTestEvents(
  queryable: Queryable,
  { agent, contractor }: { agent: string; contractor: string },
  position: string,
): Promise<number> {
  const condition = sql`position <= ${position}::bigint and type <> 'job.deleted'`;
  const asAgent = { organizationId: agent, organizationType: "agent" } as const;
  const asContractor = { organizationId: contractor, organizationType: "contractor" } as const;
  const ofAgent = await deleteEventsOf(queryable, asAgent, condition);
  return ofAgent + (await deleteEventsOf(queryable, asContractor, condition));
}

/** Deletes the oldest events of each test organisation that sees more than `keep`. Returns their number. */
export async function trimTestEvents(queryable: Queryable, keep = MAX_TEST_EVENTS): Promise<number> {
  const organizations = await queryable.query<TestOrganization>(sql`
    select id as "organizationId", type as "organizationType" from organization where live_organization_id is not null`);
  let total = 0;
  for (const organization of organizations)
    total += await deleteEventsOf(
      queryable,
      organization,
      sql`(transaction_id, position) <= (
        select transaction_id, position from job_event where ${visibleTo(organization, "job_event")}
        order by transaction_id desc, position desc offset ${keep}::int limit 1)`,
    );
  return total;
}
