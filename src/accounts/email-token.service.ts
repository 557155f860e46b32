/** Single-use, expiring tokens in e-mailed links, stored only as hashes (docs/decisions/0030). */
import { createHash, randomBytes } from "node:crypto";
import { LockMode } from "@mikro-orm/postgresql";
import type { Clock } from "../core/clock.ts";
import type { Reader } from "../core/postgres/database.ts";
import type { Transaction } from "../core/postgres/transaction.ts";
import { AppError } from "../core/errors.ts";
import { DAY_MS, HOUR_MS } from "../core/time.ts";
import { EmailToken, type EmailTokenKind } from "./email-token.entity.ts";

const lifetimesMs: Readonly<Record<EmailTokenKind, number>> = {
  registration: 72 * HOUR_MS,
  invitation: 72 * HOUR_MS,
  password_reset: HOUR_MS,
  account_request_answer: 14 * DAY_MS,
};

/** What a link is for. */
type EmailTokenSubject = Pick<EmailToken, "kind" | "subjectId">;

const TOKEN_PATTERN = /^[\w-]{43}$/;

/** An unknown, used, expired, replaced or revoked token, or one of another kind, throws the same NotFoundException. */
export class EmailTokenService {
  readonly #database: Reader;
  readonly #clock: Clock;

  constructor({ database, clock }: { database: Reader; clock: Clock }) {
    this.#database = database;
    this.#clock = clock;
  }

  /** Returns a new token; only its hash is stored. Invalidates the previous token of the same kind and subject. */
  async issue(
    on: Reader,
    link: EmailTokenSubject & Pick<EmailToken, "email">,
  ): Promise<{ token: string; expiresAt: Date }> {
    const token = randomBytes(32).toString("base64url");
    const expiresAt = new Date(this.#clock.now() + lifetimesMs[link.kind]);
    await on.em().upsert(EmailToken, { ...link, tokenHash: hashToken(token), expiresAt, usedAt: null });
    return { token, expiresAt };
  }

  /** Returns the token's details without using it up. */
  async check(token: string): Promise<EmailToken> {
    const link = await this.#database.em().findOne(EmailToken, this.#usable(token));
    if (!link) throw invalidEmailToken();
    return link;
  }

  /** Uses the token up, in the caller's transaction. Of two concurrent calls only one succeeds. */
  async consume(tx: Transaction, token: string, kind: EmailTokenKind): Promise<EmailToken> {
    const em = tx.em();
    // A concurrent call waits for the lock, and then finds no unused token.
    const lock = { lockMode: LockMode.PESSIMISTIC_WRITE } as const;
    const link = await em.findOne(EmailToken, { ...this.#usable(token), kind }, lock);
    if (!link) throw invalidEmailToken();
    link.usedAt = new Date(this.#clock.now());
    await em.flush();
    return link;
  }

  #usable(token: string) {
    return { tokenHash: hashToken(token), usedAt: null, expiresAt: { $gt: new Date(this.#clock.now()) } };
  }
}

/** Deletes the tokens of a kind and its subjects, if there are any. */
export async function revokeEmailTokens(
  on: Reader,
  kind: EmailTokenKind,
  ...subjectIds: readonly string[]
): Promise<void> {
  await on.em().nativeDelete(EmailToken, { kind, subjectId: { $in: subjectIds } });
}

/** The same error for every reason, so that it doesn't reveal which tokens exist. */
export function invalidEmailToken(): AppError {
  return new AppError(
    "NotFoundException",
    "This link is no longer valid: it was used, has expired, or was replaced by a newer one. Ask for a new link.",
  );
}

/** 256 random bits need no slow hash. A malformed token is looked up too, so that the response takes equally long. */
function hashToken(token: string): Buffer {
  return createHash("sha256")
    .update(TOKEN_PATTERN.test(token) ? token : "")
    .digest();
}
