/** Reads account requests, for operators only. */
import { decodeIdCursor, encodeCursor } from "../../platform/cursor.ts";
import type { Queryable } from "../../platform/postgres/database.ts";
import type { OrganizationType } from "../../platform/principal.ts";
import { sql, type Sql } from "../../platform/postgres/sql.ts";
import { toIsoTime } from "../../platform/time.ts";
import type { AccountRequestNoteKind, AccountRequestStatus } from "./entity.ts";

export interface AccountRequestView {
  /** A uuid. */
  readonly id: string;
  readonly status: AccountRequestStatus;
  readonly email: string;
  readonly organizationName: string;
  readonly organizationType: OrganizationType;
  readonly message: string | null;
  readonly createdAt: string;
  readonly decidedAt: string | null;
  readonly decidedBy: string | null;
  /** When the registration link expires; null if none was sent or it was used. */
  readonly registrationExpiresAt: string | null;
  /** A uuid; null if no organisation was created. */
  readonly organizationId: string | null;
}

export interface AccountRequestNoteView {
  readonly at: string;
  readonly by: string;
  readonly kind: AccountRequestNoteKind;
  readonly text: string;
}

export interface AccountRequestListOptions {
  /** Absent: any. */
  readonly statuses?: readonly AccountRequestStatus[] | undefined;
  readonly limit: number;
  /** Start after the request with this uuid (`readAccountRequestCursor`); null: at the newest. */
  readonly after: string | null;
}

const selectRequests = sql`
  select request.id, request.status, request.email, request.organization_name, request.organization_type, request.message,
    request.created_at, request.decided_at, request.decided_by, request.organization_id,
    link.expires_at as registration_expires_at
  from account_request request left join email_token link
    on link.kind = 'registration' and link.subject_id = request.id and link.used_at is null`;

/** Newest first. */
export async function listAccountRequests(
  on: Queryable,
  { statuses, limit, after }: AccountRequestListOptions,
): Promise<{ items: AccountRequestView[]; hasMore: boolean }> {
  const rows = await on.query<AccountRequestRow>(sql`
    ${selectRequests} where ${statusCondition(statuses)} and ${after === null ? sql`true` : sql`request.id < ${after}::uuid`}
    order by request.id desc limit ${limit + 1}::int`);
  return { items: rows.slice(0, limit).map(toView), hasMore: rows.length > limit };
}

export async function countAccountRequests(
  on: Queryable,
  { statuses }: Pick<AccountRequestListOptions, "statuses">,
): Promise<number> {
  const [row] = await on.query<{ count: number }>(
    sql`select count(*)::int as count from account_request request where ${statusCondition(statuses)}`,
  );
  return row?.count ?? 0;
}

/** Returns the existing requests of `ids` (uuids), in no particular order. */
export async function accountRequestsByIds(
  on: Queryable,
  ids: readonly string[],
): Promise<AccountRequestView[]> {
  if (ids.length === 0) return [];
  return (
    await on.query<AccountRequestRow>(sql`${selectRequests} where request.id = any(${[...ids]}::uuid[])`)
  ).map(toView);
}

/** The notes of each request, oldest first. */
export async function accountRequestNotes(
  on: Queryable,
  ids: readonly string[],
): Promise<Map<string, AccountRequestNoteView[]>> {
  const rows = await on.query<AccountRequestNoteView & { request_id: string }>(sql`
    select request_id, at, by, kind, text from account_request_note
    where request_id = any(${[...ids]}::uuid[]) order by request_id, id`);
  const notes = new Map<string, AccountRequestNoteView[]>();
  for (const { request_id: id, at, by, kind, text } of rows) {
    const known = notes.get(id) ?? [];
    known.push({ at: toIsoTime(at), by, kind, text });
    notes.set(id, known);
  }
  return notes;
}

/** Returns warnings for an operator to read before deciding, by request id. Only undecided requests have any. */
export async function accountRequestWarnings(
  on: Queryable,
  ids: readonly string[],
): Promise<Map<string, string[]>> {
  const rows = await on.query<{ id: string; warning: string }>(sql`
    with undecided as (
      select * from account_request where id = any(${[...ids]}::uuid[]) and status in ('pending', 'asked')
    )
    select undecided.id, 'An account with this e-mail address already exists' as warning
      from undecided join user_account on user_account.email = undecided.email
    union all
    select undecided.id, format('An organisation named "%s" already exists', organization.name)
      from undecided join organization on lower(organization.name) = lower(undecided.organization_name)
    union all
    select undecided.id, format('Other undecided requests for the same organisation: %s', count(*))
      from undecided join account_request other on lower(other.organization_name) = lower(undecided.organization_name)
        and other.id <> undecided.id and other.status in ('pending', 'asked')
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

const CURSOR = "account_requests";

export function accountRequestCursor({ id }: Pick<AccountRequestView, "id">): string {
  return encodeCursor(CURSOR, [id]);
}

/** Returns the uuid to start after, or null if `text` is not a cursor of this list. */
export function readAccountRequestCursor(text: string): string | null {
  return decodeIdCursor(CURSOR, text);
}

interface AccountRequestRow {
  id: string;
  status: AccountRequestStatus;
  email: string;
  organization_name: string;
  organization_type: OrganizationType;
  message: string | null;
  created_at: string;
  decided_at: string | null;
  decided_by: string | null;
  organization_id: string | null;
  registration_expires_at: string | null;
}

function statusCondition(statuses: readonly AccountRequestStatus[] | undefined): Sql {
  return statuses === undefined ? sql`true` : sql`request.status = any(${[...statuses]}::text[])`;
}

function toView(row: AccountRequestRow): AccountRequestView {
  return {
    id: row.id,
    status: row.status,
    email: row.email,
    organizationName: row.organization_name,
    organizationType: row.organization_type,
    message: row.message,
    createdAt: toIsoTime(row.created_at),
    decidedAt: row.decided_at && toIsoTime(row.decided_at),
    decidedBy: row.decided_by,
    registrationExpiresAt: row.registration_expires_at && toIsoTime(row.registration_expires_at),
    organizationId: row.organization_id,
  };
}
