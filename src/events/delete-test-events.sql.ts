/**
 * Deletes events of test organisations. Those of live ones are kept. In small transactions, because the feed hides the events of
 * all organisations that follow the oldest transaction in progress.
 */
import type { Queryable } from "../core/postgres/database.ts";
import type { OrganizationPrincipal } from "../core/principal.ts";
import { raw, sql, type Sql } from "../core/postgres/sql.ts";
import { visibleTo } from "../jobs/api.ts";
import type { FeedPosition } from "./cursors.ts";
import { feedPositionColumns } from "./feed.sql.ts";

/** Of one test organisation. */
const MAX_TEST_EVENTS = 100_000;
const BATCH_SIZE = 5_000;

type TestOrganization = Pick<OrganizationPrincipal, "organizationId" | "organizationType">;

/** Returns the position of the newest event that the organisation can see after `offset` newer ones, or null if it sees fewer. */
async function newestEventOf(
  queryable: Queryable,
  organization: TestOrganization,
  offset = 0,
): Promise<FeedPosition | null> {
  const [position] = await queryable.query<FeedPosition>(sql`
    select ${feedPositionColumns} from job_event where ${visibleTo(organization, "job_event")}
    order by job_event.transaction_id desc, job_event.position desc offset ${offset}::int limit 1`);
  return position ?? null;
}

/** Deletes the events up to `last` that the organisation can see and that match `condition`. Returns their number. */
async function deleteEventsOf(
  queryable: Queryable,
  organization: TestOrganization,
  { last, condition = raw("true") }: { last: FeedPosition; condition?: Sql },
): Promise<number> {
  let [total, count] = [0, BATCH_SIZE];
  while (count === BATCH_SIZE) {
    const [row] = await queryable.query<{ deleted: number }>(sql`
      with deleted as (
        delete from job_event where id = any(array(
          select id from job_event
          where ${visibleTo(organization, "job_event")} and ${condition}
            and (transaction_id, position) <= (${last.transaction_id}::xid8, ${last.position}::bigint)
          order by transaction_id, position limit ${BATCH_SIZE}::int))
        returning 1
      ) select count(*)::int as deleted from deleted`);
    count = row?.deleted ?? 0;
    total += count;
  }
  return total;
}

/** For copies of the jobs that have not read them yet. They are trimmed as others. */
const isNoDeletion = raw("type <> 'job.deleted'");

/**
 * Returns a function that deletes the events which a test agent and its contractor see now, except `job.deleted`. Call it after
 * `tx` has committed. It returns their number.
 */
export async function deletionOfEvents(
  tx: Queryable,
  { agent, contractor }: { agent: string; contractor: string },
): Promise<(queryable: Queryable) => Promise<number>> {
  const sides: [TestOrganization, FeedPosition | null][] = [];
  for (const organization of [
    { organizationId: agent, organizationType: "agent" },
    { organizationId: contractor, organizationType: "contractor" },
  ] as const)
    sides.push([organization, await newestEventOf(tx, organization)]);
  return async (queryable) => {
    let total = 0;
    for (const [organization, last] of sides)
      if (last) total += await deleteEventsOf(queryable, organization, { last, condition: isNoDeletion });
    return total;
  };
}

/** Deletes the oldest events of each test organisation that sees more than `keep`. Returns their number. */
export async function trimTestEvents(queryable: Queryable, keep = MAX_TEST_EVENTS): Promise<number> {
  const organizations = await queryable.query<TestOrganization>(sql`
    select id as "organizationId", type as "organizationType" from organization where live_organization_id is not null`);
  let total = 0;
  for (const organization of organizations) {
    const last = await newestEventOf(queryable, organization, keep);
    if (last) total += await deleteEventsOf(queryable, organization, { last });
  }
  return total;
}
