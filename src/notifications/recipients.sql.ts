/** The recipients of a notification: the users whose role allows its kind, in live organisations that are not suspended. */
import type { Queryable } from "../core/postgres/database.ts";
import { raw, sql, type Sql } from "../core/postgres/sql.ts";
import { toIsoTime } from "../core/time.ts";
import type { OrganizationType } from "../core/principal.ts";
import type { UserRole } from "../organizations/api.ts";
import { MORNING, type NotificationKind, notificationKinds, OWNER_DEFAULTS, rolesByKind } from "./kinds.ts";

/** The kind is a column or a value. `usr`, `org` and the optional `settings` are joined. */
const byMail = (kind: Sql): Sql => sql`${kind} = any(coalesce(settings.mail,
  case when usr.role = 'owner' then ${[...OWNER_DEFAULTS]}::text[] else '{}' end))`;
const byWebhook = (kind: Sql): Sql =>
  sql`(settings.webhook_url is not null and ${kind} = any(coalesce(settings.webhook, '{}')))`;
const pairs = notificationKinds.flatMap((kind) => rolesByKind[kind].map((role) => [kind, role] as const));
const isAllowed = (kind: Sql): Sql => sql`(${kind}, usr.role) in (
  select * from unnest(${pairs.map(([kind_]) => kind_)}::text[], ${pairs.map(([, role]) => role)}::text[]))
  and org.suspended_at is null and org.live_organization_id is null`;
const USERS = raw(`user_account usr join organization org on org.id = usr.organization_id
  left join notification_settings settings on settings.user_id = usr.id`);

export interface Claim {
  /** A UUID. */
  readonly organizationId: string;
  readonly kind: NotificationKind;
  /** A user gets one notification of a kind and key. */
  readonly key: string;
  /** Default: all roles that may choose the kind. */
  readonly roles?: readonly UserRole[];
}

/**
 * Records that the organisation's recipients get the notification, queues it for their webhooks, and returns the e-mail addresses of
 * those who get a mail. A user who got it before is left out. Without `text` webhooks get nothing.
 */
export async function claim(
  on: Queryable,
  { organizationId, kind, key, roles = rolesByKind[kind] }: Claim,
  text: string | null,
): Promise<string[]> {
  const value = sql`${kind}::text`;
  const rows = await on.query<{ email: string }>(sql`
    with recipient as materialized (
      select usr.id, usr.email, ${byMail(value)} as by_mail, ${byWebhook(value)} as by_webhook from ${USERS}
      where usr.organization_id = ${organizationId}::uuid and usr.role = any(${[...roles]}::text[]) and ${isAllowed(value)}
    ), claimed as (
      insert into notification (id, user_id, kind, key, message, due_at)
      select gen_random_uuid(), id, ${value}, ${key}, case when by_webhook then ${text}::text end,
        case when by_webhook and ${text}::text is not null then clock_timestamp() end
      from recipient where by_mail or by_webhook order by id
      on conflict (user_id, kind, key) do nothing returning user_id
    )
    select email from recipient join claimed on claimed.user_id = recipient.id where by_mail`);
  return rows.map(({ email }) => email);
}

export interface DueMorning {
  readonly organizationId: string;
  readonly organizationType: OrganizationType;
  readonly timeZone: string;
  readonly kind: "late_jobs" | "weekly_digest";
  /** The organisation's date, `YYYY-MM-DD`. */
  readonly day: string;
}

/** Returns the organisations where it is morning and a user still waits for the day's notification. */
export async function dueMornings(on: Queryable, nowMs: number): Promise<DueMorning[]> {
  const kind = raw("kind.name");
  return await on.query<DueMorning>(sql`
    select distinct org.id as "organizationId", org.type as "organizationType", org.time_zone as "timeZone",
      kind.name as kind, local.time::date::text as day
    from ${USERS} cross join unnest(array['late_jobs', 'weekly_digest']) kind (name)
      cross join lateral (select ${new Date(nowMs)}::timestamptz at time zone org.time_zone as time) local
    where settings.user_id is not null and (${byMail(kind)} or ${byWebhook(kind)}) and ${isAllowed(kind)}
      and extract(hour from local.time) >= ${MORNING.fromHour}::int and extract(hour from local.time) < ${MORNING.untilHour}::int
      and (kind.name = 'late_jobs' or extract(isodow from local.time) = 1)
      and not exists (select from notification
        where user_id = usr.id and notification.kind = kind.name and key = local.time::date::text)`);
}

export interface ExpiringKey {
  /** UUIDs. */
  readonly id: string;
  readonly organizationId: string;
  readonly name: string;
  readonly prefix: string;
  /** ISO 8601. */
  readonly expiresAt: string;
}

/**
 * Returns the live keys that expire within 7 days. Without those that were rotated, as their successor has no gap, and those that
 * were created for less than 7 days.
 */
export async function expiringKeys(on: Queryable, nowMs: number): Promise<ExpiringKey[]> {
  const now = sql`${new Date(nowMs)}::timestamptz`;
  const rows = await on.query<ExpiringKey>(sql`
    select key.id, key.organization_id as "organizationId", key.name, key.prefix, key.expires_at as "expiresAt"
    from api_key key join organization org on org.id = key.organization_id
    where key.revoked_at is null and key.expires_at > ${now} and key.expires_at <= ${now} + interval '7 days'
      and key.expires_at - key.created_at > interval '7 days'
      and org.suspended_at is null and org.live_organization_id is null
      and not exists (select from api_key successor
        where successor.rate_bucket = coalesce(key.rate_bucket, key.id) and successor.id > key.id)
    order by key.expires_at, key.id`);
  return rows.map((row) => ({ ...row, expiresAt: toIsoTime(row.expiresAt) }));
}

interface LeasedPost {
  readonly id: string;
  readonly userId: string;
  readonly message: string;
  readonly attempts: number;
  /** Sealed. */
  readonly webhookUrl: string;
}

/**
 * Leases the post that has been due the longest for `leaseMs`, or returns null. It checks again who may get it. A post of yesterday
 * is not sent, for example when a suspension ends.
 */
export async function leasePost(on: Queryable, leaseMs: number): Promise<LeasedPost | null> {
  const kind = raw("waiting.kind");
  const [row] = await on.query<LeasedPost>(sql`
    update notification set attempts = notification.attempts + 1,
      due_at = clock_timestamp() + ${leaseMs}::int8 * interval '1 ms'
    from (select waiting.id, settings.webhook_url from notification waiting join (${USERS}) on usr.id = waiting.user_id
      where waiting.due_at <= clock_timestamp() and waiting.created_at > clock_timestamp() - interval '1 day' and ${byWebhook(kind)} and ${isAllowed(kind)}
      order by waiting.due_at limit 1 for update of waiting skip locked) due
    where notification.id = due.id
    returning notification.id, user_id as "userId", message, attempts, due.webhook_url as "webhookUrl"`);
  return row ?? null;
}
