/** Deletes the delivery log of test organisations. That of live ones is purged by age only. */
import type { Queryable } from "../../platform/postgres/database.ts";
import { sql } from "../../platform/postgres/sql.ts";

/** Deletes all deliveries and attempts of the endpoints of `organizationIds` (uuids). Returns the number of deliveries. */
export async function deleteTestDeliveries(
  on: Queryable,
  organizationIds: readonly string[],
): Promise<number> {
  const [row] = await on.query<{ deleted: number }>(sql`
    with deleted as (
      delete from webhook_delivery using webhook_endpoint endpoint
      where endpoint.id = endpoint_id and endpoint.organization_id = any(${[...organizationIds]}::uuid[])
      returning webhook_delivery.id
    ), attempts as (
      delete from webhook_attempt where delivery_id in (select id from deleted)
    )
    select count(*)::int as deleted from deleted`);
  return row?.deleted ?? 0;
}
