/** The first steps of a new organisation, as its stored data show them. */
import type { Queryable } from "../core/postgres/database.ts";
import { sql } from "../core/postgres/sql.ts";

export interface FirstSteps {
  hasTestKey: boolean;
  /** A test key was used. */
  hasCalled: boolean;
  /** An endpoint of test data answered a delivery with 2xx. */
  hasReceivedWebhook: boolean;
  hasDeliveredJob: boolean;
  hasLiveKey: boolean;
}

/** Each sub-select stops at its first row. `organizationId`: the uuid of a live organisation. */
export async function readFirstSteps(on: Queryable, organizationId: string): Promise<FirstSteps> {
  const [row] = await on.query<FirstSteps>(sql`
    with test as (select id from organization where live_organization_id = ${organizationId}::uuid)
    select exists (select from api_key where organization_id in (select id from test)) as "hasTestKey",
      exists (select from api_key where organization_id in (select id from test) and last_used_at is not null) as "hasCalled",
      exists (select from webhook_delivery delivery join webhook_endpoint endpoint on endpoint.id = delivery.endpoint_id
        where endpoint.organization_id in (select id from test) and delivery.status = 'delivered') as "hasReceivedWebhook",
      exists (select from job join job_status status on status.code = job.normalized_status
        where job.agent_id in (select id from test) and status.category = 'success') as "hasDeliveredJob",
      exists (select from api_key where organization_id = ${organizationId}::uuid) as "hasLiveKey"`);
  return row as FirstSteps;
}
