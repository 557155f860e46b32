/** Records audit events in the transaction of the change itself, and lists them. */
import type { Queryable } from "../platform/postgres/database.ts";
import { decodeIdCursor, encodeCursor } from "../platform/cursor.ts";
import { newUuid, toTypedId } from "../platform/ids.ts";
import type { Actor } from "../platform/principal.ts";
import { join, sql, type Sql } from "../platform/postgres/sql.ts";
import { toIsoTime } from "../platform/time.ts";

/** The IP address and id of the request that caused an event. */
export interface AuditSource {
  readonly address: string | null;
  readonly requestId: string | null;
}

/** The actor of an event, and its source. */
export interface AuditContext extends AuditSource {
  readonly actor: Actor;
}

/** For events that no request caused, such as those of CLI commands. */
export const NO_SOURCE: AuditSource = { address: null, requestId: null };

export interface AuditEvent {
  /** `noun.participle`, such as `member.removed` or `organization.suspended`. */
  readonly action: string;
  readonly actor: Actor;
  /** The organisation concerned (a uuid); null if there is none. */
  readonly organizationId: string | null;
  /** The object changed: a typed id or an e-mail address. */
  readonly subject?: string | null | undefined;
  /** Further details. Never secrets. */
  readonly details?: Readonly<Record<string, unknown>> | null | undefined;
  readonly address?: string | null | undefined;
  readonly requestId?: string | null | undefined;
}

export interface AuditEntryView {
  readonly id: string;
  readonly at: string;
  readonly action: string;
  readonly actor: string;
  /** A uuid. */
  readonly organizationId: string | null;
  readonly subject: string | null;
  readonly details: Readonly<Record<string, unknown>> | null;
  readonly address: string | null;
  readonly requestId: string | null;
}

export interface AuditListOptions {
  /** Only these entries (uuids); absent: all. */
  readonly ids?: readonly string[] | undefined;
  /** Only these actions; absent: all. */
  readonly actions?: readonly string[] | undefined;
  /** Only events that concern this organisation (a uuid). */
  readonly organizationId?: string | undefined;
  readonly limit: number;
  /** Start after the entry with this uuid (`readAuditCursor`); null: at the newest. */
  readonly after: string | null;
}

/** Returns the actor's current display name: a user's e-mail address, a key's id, or `system`. */
export async function actorDisplayName(on: Queryable, { type, id }: Actor): Promise<string> {
  if (id === null) return "system";
  if (type === "key") return toTypedId("key", id);
  const [user] = await on.query<{ email: string }>(
    sql`select email from user_account where id = ${id}::uuid`,
  );
  return user?.email ?? toTypedId("usr", id);
}

/** Records an event. `on`: the transaction of the change, or the pool if there is none. */
export async function recordAuditEvent(on: Queryable, event: AuditEvent): Promise<void> {
  const { type, id } = event.actor;
  // Store the e-mail address, as the user may be deleted later.
  const actor = await actorDisplayName(on, event.actor);
  await on.query(sql`
    insert into audit_entry (id, action, actor_type, actor_id, actor, by_operator, organization_id, subject, details,
      address, request_id)
    select ${newUuid()}, ${event.action}, ${type}, ${id}::uuid, ${actor},
      case ${type}::text
        when 'user' then exists (select from user_account where id = ${id}::uuid and organization_id is null)
        when 'key' then exists (select from api_key where id = ${id}::uuid and organization_id is null)
        -- A CLI command has no IP address. An unauthenticated request, such as a failed sign-in, has one.
        else ${event.address ?? null}::text is null end,
      ${event.organizationId}::uuid, ${event.subject ?? null}, ${event.details ? JSON.stringify(event.details) : null}::jsonb,
      ${event.address ?? null}, ${event.requestId ?? null}`);
}

/**
 * Lists entries, newest first: to an organisation those that concern it, to operators all. An organisation sees an
 * operator's event and its time, but not the operator's name, IP address, request or details.
 */
export async function listAuditEntries(
  on: Queryable,
  { organizationId: viewerOrganizationId }: { readonly organizationId: string | null },
  request: AuditListOptions,
): Promise<{ items: AuditEntryView[]; hasMore: boolean }> {
  const { after } = request;
  const conditions = [
    viewerOrganizationId === null ? sql`true` : sql`organization_id = ${viewerOrganizationId}::uuid`,
    request.organizationId === undefined ? sql`true` : sql`organization_id = ${request.organizationId}::uuid`,
    request.ids === undefined ? sql`true` : sql`id = any(${[...request.ids]}::uuid[])`,
    request.actions === undefined ? sql`true` : sql`action = any(${[...request.actions]}::text[])`,
    after === null ? sql`true` : sql`id < ${after}::uuid`,
  ];
  const rows = await on.query<AuditEntryRow>(sql`
    select id, at, action, organization_id, subject, ${visibleColumns(viewerOrganizationId)}
    from audit_entry where ${join(conditions, " and ")} order by id desc limit ${request.limit + 1}::int`);
  return { items: rows.slice(0, request.limit).map(toAuditEntryView), hasMore: rows.length > request.limit };
}

const CURSOR = "audit";

export function auditCursor({ id }: AuditEntryView): string {
  return encodeCursor(CURSOR, [id]);
}

/** Returns the uuid to start after, or null if `text` is not a cursor of this list. */
export function readAuditCursor(text: string): string | null {
  return decodeIdCursor(CURSOR, text);
}

interface AuditEntryRow {
  id: string;
  at: string;
  action: string;
  actor: string;
  organization_id: string | null;
  subject: string | null;
  details: Record<string, unknown> | null;
  address: string | null;
  request_id: string | null;
}

function visibleColumns(viewerOrganizationId: string | null): Sql {
  if (viewerOrganizationId === null) return sql`actor, details, address, request_id`;
  return sql`case when by_operator then 'operator' else actor end as actor,
    case when not by_operator then details end as details, case when not by_operator then address end as address,
    case when not by_operator then request_id end as request_id`;
}

function toAuditEntryView(row: AuditEntryRow): AuditEntryView {
  return {
    id: row.id,
    at: toIsoTime(row.at),
    action: row.action,
    actor: row.actor,
    organizationId: row.organization_id,
    subject: row.subject,
    details: row.details,
    address: row.address,
    requestId: row.request_id,
  };
}
