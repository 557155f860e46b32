/** Links that prove who owns an address: good once, for a time, and kept only as a hash (docs/decisions/0030). */
import { createHash, randomBytes } from "node:crypto";
import type { Clock } from "../platform/clock.ts";
import type { Queryable } from "../platform/postgres/database.ts";
import { AppError } from "../platform/errors.ts";
import { sql } from "../platform/postgres/sql.ts";
import { toIsoTime } from "../platform/time.ts";
import type { EmailTokenKind } from "./email-token.entity.ts";

export interface NewEmailToken {
  readonly kind: EmailTokenKind;
  /** A uuid. */
  readonly subjectId: string;
  readonly email: string;
  readonly lifetimeMs: number;
}

export interface EmailTokenDetails {
  readonly kind: EmailTokenKind;
  readonly subjectId: string;
  readonly email: string;
  readonly expiresAt: string;
}

/** A token that is unknown, used, expired, void or of another kind is told in one way: NotFoundException. */
export interface EmailTokenService {
  /** Answers with the token, which nobody can read anywhere afterwards. The former link of the same kind and subject ends. */
  issue(on: Queryable, link: NewEmailToken): Promise<string>;
  /** What a token is good for. It stays good. */
  check(token: string, on?: Queryable): Promise<EmailTokenDetails>;
  /** Uses a token up, in the transaction of what it is good for: of two at once only one goes through. */
  consume(tx: Queryable, token: string, kind: EmailTokenKind): Promise<{ subjectId: string; email: string }>;
  /** Ends the link, if there is one. */
  revoke(on: Queryable, link: { kind: EmailTokenKind; subjectId: string }): Promise<void>;
}

const TOKEN_PATTERN = /^[\w-]{43}$/;

const HOUR_MS = 3_600_000;
/** How long people have to follow a link to an account of theirs; it can be sent again. */
export const REGISTRATION_LIFETIME_MS = 72 * HOUR_MS;

export function createEmailTokenService({
  database,
  clock,
}: {
  database: Queryable;
  clock: Clock;
}): EmailTokenService {
  const now = (): string => new Date(clock.now()).toISOString();
  return {
    async issue(on, { kind, subjectId, email, lifetimeMs }) {
      const token = randomBytes(32).toString("base64url");
      const expiresAt = new Date(clock.now() + lifetimeMs).toISOString();
      await on.query(sql`
        insert into email_token (kind, subject_id, token_hash, email, expires_at)
        values (${kind}, ${subjectId}, ${hashToken(token)}, ${email}, ${expiresAt}::timestamptz)
        on conflict (kind, subject_id) do update set token_hash = excluded.token_hash, email = excluded.email,
          expires_at = excluded.expires_at, used_at = null`);
      return token;
    },

    async check(token, on = database) {
      const [row] = await on.query<EmailTokenRow>(sql`
        select kind, subject_id, email, expires_at from email_token
        where token_hash = ${hashToken(token)} and used_at is null and expires_at > ${now()}::timestamptz`);
      if (!row) throw invalidEmailToken();
      const { kind, subject_id: subjectId, email } = row;
      return { kind, subjectId, email, expiresAt: toIsoTime(row.expires_at) };
    },

    async consume(tx, token, kind) {
      const [row] = await tx.query<EmailTokenRow>(sql`
        update email_token set used_at = ${now()}::timestamptz
        where token_hash = ${hashToken(token)} and kind = ${kind} and used_at is null and expires_at > ${now()}::timestamptz
        returning kind, subject_id, email, expires_at`);
      if (!row) throw invalidEmailToken();
      return { subjectId: row.subject_id, email: row.email };
    },

    async revoke(on, { kind, subjectId }) {
      await on.query(sql`delete from email_token where kind = ${kind} and subject_id = ${subjectId}`);
    },
  };
}

/** One answer, whatever the reason: nobody learns which tokens there were. */
export function invalidEmailToken(): AppError {
  return new AppError(
    "NotFoundException",
    "This link is not good any more: it was used, has expired, or a newer one was sent. Ask for a new one.",
  );
}

interface EmailTokenRow {
  kind: EmailTokenKind;
  subject_id: string;
  email: string;
  expires_at: string;
}

/** 256 random bits need no slow hash. A text that is no token of ours is looked for like any other, so that it takes as long. */
function hashToken(token: string): Buffer {
  return createHash("sha256")
    .update(TOKEN_PATTERN.test(token) ? token : "")
    .digest();
}
