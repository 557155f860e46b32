/** Single-use, expiring tokens in e-mailed links, stored only as hashes (docs/decisions/0030). */
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

/** An unknown, used, expired, replaced or revoked token, or one of another kind, throws the same NotFoundException. */
export interface EmailTokenService {
  /** Returns a new token; only its hash is stored. Invalidates the previous token of the same kind and subject. */
  issue(on: Queryable, link: NewEmailToken): Promise<string>;
  /** Returns the token's details without using it up. */
  check(token: string, on?: Queryable): Promise<EmailTokenDetails>;
  /** Uses the token up, in the caller's transaction. Of two concurrent calls only one succeeds. */
  consume(tx: Queryable, token: string, kind: EmailTokenKind): Promise<{ subjectId: string; email: string }>;
  /** Deletes the token, if there is one. */
  revoke(on: Queryable, link: { kind: EmailTokenKind; subjectId: string }): Promise<void>;
}

const TOKEN_PATTERN = /^[\w-]{43}$/;

const HOUR_MS = 3_600_000;
/** For registrations and invitations. */
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

/** The same error for every reason, so that it doesn't reveal which tokens exist. */
export function invalidEmailToken(): AppError {
  return new AppError(
    "NotFoundException",
    "This link is no longer valid: it was used, has expired, or was replaced by a newer one. Ask for a new link.",
  );
}

interface EmailTokenRow {
  kind: EmailTokenKind;
  subject_id: string;
  email: string;
  expires_at: string;
}

/** 256 random bits need no slow hash. A malformed token is looked up too, so that the response takes equally long. */
function hashToken(token: string): Buffer {
  return createHash("sha256")
    .update(TOKEN_PATTERN.test(token) ? token : "")
    .digest();
}
