/** A person's sessions as they see them, and their end. */
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
  /** Whether it is the one that asks. */
  readonly isCurrent: boolean;
  readonly createdAt: string;
  /** To the minute. */
  readonly lastSeenAt: string;
  /** Where it was used last. */
  readonly address: string | null;
  readonly userAgent: string | null;
  readonly expiresAt: string;
}

export interface SessionService {
  /** Those that are good, the one that was used last first. */
  list(holder: SessionPrincipal): Promise<SessionView[]>;
  /** Throws NotFoundException for a session (a uuid) that is not theirs. */
  revoke(holder: SessionPrincipal, id: string, visit: ClientInfo): Promise<void>;
  /** Answers with how many. */
  revokeOthers(holder: SessionPrincipal, visit: ClientInfo): Promise<number>;
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

    revokeOthers: (holder, visit) =>
      database.transaction(async (tx) => {
        const ended = await users.revokeSessions(tx, holder.user.id, { id: holder.sessionId });
        if (ended > 0) await recordRevocation(tx, holder, visit, ended);
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
 * Deletes ended sessions and expired verifications by PostgreSQL's clock, at most `limit` of each kind. In order, and by an
 * array: so each is found by an index, also by a plan that is made for any values.
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

/** Everybody signs in again, in browsers that are not known any more. Answers with how many sessions there were. */
export async function revokeAllSessions(on: Queryable): Promise<number> {
  const [row] = await on.query<{ ended: number }>(sql`
    with gone as (delete from user_session returning 1),
      unknown as (update user_credential set browser_epoch = gen_random_uuid())
    select count(*)::int as ended from gone`);
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
