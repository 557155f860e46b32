/** The audit log: who did what to whom, from where. Recorded in the transaction of the act, so that neither is without the other. */
import type { Queryable } from "../platform/postgres/database.ts";
import { decodeIdCursor, encodeCursor } from "../platform/cursor.ts";
import { newUuid, toTypedId } from "../platform/ids.ts";
import type { Actor } from "../platform/principal.ts";
import { join, sql, type Sql } from "../platform/postgres/sql.ts";
import { toIsoTime } from "../platform/time.ts";

/** Where an act comes from. */
export interface AuditSource {
  readonly address: string | null;
  readonly requestId: string | null;
}

/** Who acts, and from where. */
export interface AuditContext extends AuditSource {
  readonly actor: Actor;
}

/** From no request at all, such as a command. */
export const NO_SOURCE: AuditSource = { address: null, requestId: null };

export interface AuditEvent {
  /** What was done, as `noun.participle`: `member.removed`, `organization.suspended`. */
  readonly action: string;
  readonly actor: Actor;
  /** The organisation that it is about (a uuid); null: none. */
  readonly organizationId: string | null;
  /** What it was done to: a typed id, or an address. */
  readonly subject?: string | null | undefined;
  /** What else is worth knowing. Never a secret. */
  readonly details?: Readonly<Record<string, unknown>> | null | undefined;
  readonly address?: string | null | undefined;
  readonly requestId?: string | null | undefined;
}

/** An act as it is shown. */
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
  /** Only these; absent: all. */
  readonly actions?: readonly string[] | undefined;
  /** Only what is about this organisation (a uuid). */
  readonly organizationId?: string | undefined;
  readonly limit: number;
  /** The uuid after which to go on (`readActCursor`); null: from the newest on. */
  readonly after: string | null;
}

/** Who it is in words, as of now: a person's e-mail address, a key's id, or `system`. */
export async function actorDisplayName(on: Queryable, { type, id }: Actor): Promise<string> {
  if (id === null) return "system";
  if (type === "key") return toTypedId("key", id);
  const [user] = await on.query<{ email: string }>(
    sql`select email from user_account where id = ${id}::uuid`,
  );
  return user?.email ?? toTypedId("usr", id);
}

/** Keeps account of an act. `on`: the transaction of the act itself, or the pool where there is none. */
export async function recordAuditEvent(on: Queryable, event: AuditEvent): Promise<void> {
  const { type, id } = event.actor;
  // The person's address is kept as it is now: the log must tell who it was when they are gone.
  const actor = await actorDisplayName(on, event.actor);
  await on.query(sql`
    insert into audit_entry (id, action, actor_type, actor_id, actor, by_operator, organization_id, subject, details,
      address, request_id)
    select ${newUuid()}, ${event.action}, ${type}, ${id}::uuid, ${actor},
      case ${type}::text
        when 'user' then exists (select from user_account where id = ${id}::uuid and organization_id is null)
        when 'key' then exists (select from api_key where id = ${id}::uuid and organization_id is null)
        -- A command has no address. Whoever is not known and comes by the network has one: a refused sign-in, say.
        else ${event.address ?? null}::text is null end,
      ${event.organizationId}::uuid, ${event.subject ?? null}, ${event.details ? JSON.stringify(event.details) : null}::jsonb,
      ${event.address ?? null}, ${event.requestId ?? null}`);
}

/**
 * What `viewer` may see, newest first: an organisation what is about itself, operators everything. What an operator did to
 * an organisation it learns, and when; who of them it was, from where and why stays with the operators.
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

/** The uuid after which to go on; null where it is no cursor of this list. */
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
