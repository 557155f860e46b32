/** Warnings about account requests: four lookups of many requests in one statement. */
import type { Queryable } from "../../core/postgres/database.ts";
import { sql } from "../../core/postgres/sql.ts";

/** Returns warnings for an operator to read before deciding, by request id. Only undecided requests have any. */
export async function accountRequestWarnings(
  on: Queryable,
  ids: readonly string[],
): Promise<Map<string, string[]>> {
  const rows = await on.query<{ id: string; warning: string }>(sql`
    with undecided as (
      select * from account_request where id = any(${[...ids]}::uuid[]) and status in ('pending', 'awaiting_reply')
    )
    select undecided.id, 'An account with this e-mail address already exists' as warning
      from undecided join user_account on user_account.email = undecided.email
    union all
    select undecided.id, format('An organisation named "%s" already exists', organization.name)
      from undecided join organization on lower(organization.name) = lower(undecided.organization_name)
        and organization.live_organization_id is null
    union all
    select undecided.id, format('Other undecided requests for the same organisation: %s', count(*))
      from undecided join account_request other on lower(other.organization_name) = lower(undecided.organization_name)
        and other.id <> undecided.id and other.status in ('pending', 'awaiting_reply')
      group by undecided.id
    union all
    select undecided.id, 'An earlier request from this e-mail address was rejected'
      from undecided where exists (
        select from account_request former where former.email = undecided.email and former.status = 'rejected')
    order by id, warning`);
  const warnings = new Map<string, string[]>();
  for (const { id, warning } of rows) warnings.set(id, [...(warnings.get(id) ?? []), warning]);
  return warnings;
}
