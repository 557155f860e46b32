/** Lists and revokes users' sessions. */
import type { Clock } from "../../platform/clock.ts";
import type { Database, Queryable } from "../../platform/postgres/database.ts";
import { AppError } from "../../platform/errors.ts";
import { isUuid } from "../../platform/ids.ts";
import { sql } from "../../platform/postgres/sql.ts";
import { toIsoTime } from "../../platform/time.ts";
import { recordAuditEvent } from "../../audit/api.ts";
import type { ClientInfo } from "../auth/client-info.ts";
import type { SessionPrincipal } from "./principal.ts";
import { SESSION_IDLE_MS } from "./verifier.ts";
import type { UserService } from "../user.service.ts";

/** Times as ISO 8601. */
export interface SessionView {
  /** A uuid. */
  readonly id: string;
  /** True for the session of this request. */
  readonly isCurrent: boolean;
  readonly createdAt: string;
  /** Updated at most once a minute. */
  readonly lastSeenAt: string;
  /** The IP address that last used the session. */
  readonly address: string | null;
  readonly userAgent: string | null;
  readonly expiresAt: string;
}

export interface SessionService {
  /** The user's active sessions, last used first; at most 100. */
  list(principal: SessionPrincipal): Promise<SessionView[]>;
  /** `id`: a uuid. Throws NotFoundException if the user has no such session. */
  revoke(principal: SessionPrincipal, id: string, client: ClientInfo): Promise<void>;
  /** Revokes all of the user's sessions except this one. Returns their number. */
  revokeOthers(principal: SessionPrincipal, client: ClientInfo): Promise<number>;
}

export interface SessionDeps {
  database: Database;
  clock: Clock;
  users: UserService;
}

export function createSessionService({ database, clock, users }: SessionDeps): SessionService {
  return {
    async list({ user, sessionId }) {
      const rows = await database.query<SessionRow>(sql`
        select id, created_at, last_seen_at, address, user_agent, expires_at from user_session
        where user_id = ${user.id}::uuid and expires_at > ${toIsoString(clock.now())}::timestamptz
          and last_seen_at > ${toIsoString(clock.now() - SESSION_IDLE_MS)}::timestamptz
        order by last_seen_at desc, id desc limit 100`);
      return rows.map((row) => toView(row, sessionId));
    },

    async revoke(principal, id, client) {
      await database.transaction(async (tx) => {
        const ended = isUuid(id)
          ? await tx.query(sql`
              delete from user_session where id = ${id}::uuid and user_id = ${principal.user.id}::uuid returning id`)
          : [];
        if (ended.length === 0) throw new AppError("NotFoundException", "You have no such session");
        await recordRevocation(tx, principal, client, 1);
      });
    },

    revokeOthers: (principal, client) =>
      database.transaction(async (tx) => {
        const ended = await users.revokeSessions(tx, principal.user.id, { id: principal.sessionId });
        if (ended > 0) await recordRevocation(tx, principal, client, ended);
        return ended;
      }),
  };
}

function recordRevocation(
  tx: Queryable,
  { actor, organizationId }: SessionPrincipal,
  { address, requestId }: ClientInfo,
  count: number,
): Promise<void> {
  return recordAuditEvent(tx, {
    action: "session.ended",
    actor,
    organizationId,
    details: { count },
    address,
    requestId,
  });
}

/**
 * Deletes expired and idle sessions and expired verifications by PostgreSQL's clock, at most `limit` of each kind. The
 * ordered sub-selects in an array make even a generic plan use the indexes.
 */
export async function purgeSessions(on: Queryable, limit: number): Promise<void> {
  await on.query(sql`
    delete from user_session where id = any(array(
      (select id from user_session where expires_at <= now() order by expires_at limit ${limit}::int)
      union all
      (select id from user_session where last_seen_at <= now() - ${SESSION_IDLE_MS}::float8 * interval '1 ms'
        order by last_seen_at limit ${limit}::int)))`);
  await on.query(sql`
    delete from user_verification where id = any(array(
      select id from user_verification where expires_at <= now() order by expires_at
      limit ${limit}::int))`);
}

/** Deletes all sessions and forgets all known browsers. Returns the number of sessions. */
export async function revokeAllSessions(on: Queryable): Promise<number> {
  const [row] = await on.query<{ ended: number }>(sql`
    with deleted as (delete from user_session returning 1),
      forgotten as (update user_credential set browser_epoch = gen_random_uuid())
    select count(*)::int as ended from deleted`);
  return row?.ended ?? 0;
}

interface SessionRow {
  id: string;
  created_at: string;
  last_seen_at: string;
  address: string | null;
  user_agent: string | null;
  expires_at: string;
}

function toView(row: SessionRow, currentId: string): SessionView {
  return {
    id: row.id,
    isCurrent: row.id === currentId,
    createdAt: toIsoTime(row.created_at),
    lastSeenAt: toIsoTime(row.last_seen_at),
    address: row.address,
    userAgent: row.user_agent,
    expiresAt: toIsoTime(row.expires_at),
  };
}

function toIsoString(ms: number): string {
  return new Date(ms).toISOString();
}
