/** Limits attempts at passwords, codes and links, per account and per IP address, across all processes. */
import { createHash } from "node:crypto";
import { AppError } from "../../core/errors.ts";
import { networkOf, siteOf } from "../../core/network.ts";
import type { RateLimitStore } from "../../rate-limits/api.ts";
import type { TokenRate } from "../../core/concurrency/token-bucket.ts";

interface ThrottleLimit extends TokenRate {
  /** Returns what shares a bucket with the subject. */
  readonly bucketOf: (subject: string) => string;
}

/** Allows `burst` attempts, refilled at one per `minutesPerToken`. */
const tokenRate = (
  burst: number,
  minutesPerToken: number,
  bucketOf: ThrottleLimit["bucketOf"] = (subject) => subject,
): ThrottleLimit => ({ burst, perSecond: 1 / (60 * minutesPerToken), bucketOf });

export const throttleLimits = {
  /** Wrong passwords for an account from one network (IPv4 address or IPv6 /64), by unknown browsers. */
  "sign-in-network": tokenRate(10, 1),
  /** Wrong passwords for all accounts from one network. */
  "sign-in-address": tokenRate(60, 1 / 12, networkOf),
  /** Wrong passwords from one known browser (known-browser.ts). */
  "sign-in-browser": tokenRate(10, 1),
  /** All attempts at an account by unknown browsers, including successful ones: limits guessing from many networks. */
  "sign-in-total-account": tokenRate(100, 1 / 5),
  /** All attempts at an account by its known browsers, including successful ones, as each costs a hash. */
  "sign-in-total-known": tokenRate(100, 1),
  /** Password checks of signed-in users. */
  "password-account": tokenRate(10, 1),
  "two-factor-address": tokenRate(60, 1 / 12, networkOf),
  /**
   * Mails to one e-mail address, per reason: public forms must not use up the limit for a mail that the user waits for,
   * and one organisation's invitations must not depend on another's.
   */
  "reset-account": tokenRate(3, 20),
  "request-account": tokenRate(3, 20),
  "invitation-account": tokenRate(3, 20),
  /** Invitations of one organisation, so that an owner can't send mass mail through us. */
  "invitation-group": tokenRate(150, 1),
  /** Public forms: account requests and forgotten passwords. */
  "form-address": tokenRate(20, 1, networkOf),
  "form-site": tokenRate(60, 1 / 3, siteOf),
  /** Account requests that are answered by mail. Operators see the others too. */
  "request-total": tokenRate(120, 1 / 2),
  /** Starts of single sign-on, and sign-ins with a passkey. No secret can be guessed there, and a company shares an IP address. */
  "sso-address": tokenRate(300, 1 / 30, networkOf),
  /** Uses and look-ups of e-mailed links. */
  "link-address": tokenRate(60, 1 / 12, networkOf),
  /** Accepts each TOTP code once while it is valid. */
  "totp-replay": tokenRate(1, 3),
} as const satisfies Record<string, ThrottleLimit>;

export type ThrottleKind = keyof typeof throttleLimits;

/** `subject`: an e-mail address, a user's uuid or an IP address, by kind. */
export type ThrottleAttempt = readonly [kind: ThrottleKind, subject: string];

/** The buckets of a public form. */
export const formAttempts = (ipAddress: string): readonly ThrottleAttempt[] => [
  ["form-address", ipAddress],
  ["form-site", ipAddress],
];

export class Throttle {
  readonly #store: RateLimitStore;

  /** `store`: shared by all processes. */
  constructor(store: RateLimitStore) {
    this.#store = store;
  }

  /** Takes one token of each, in this order. Throws TooManyRequestsException with Retry-After at the first empty bucket. */
  async take(...attempts: readonly ThrottleAttempt[]): Promise<void> {
    const results = await this.#take(attempts, 1);
    const rejected = results.findIndex(({ allowed }) => !allowed);
    const [result, attempt] = [results[rejected], attempts[rejected]];
    if (!result || !attempt) return;
    const { perSecond } = throttleLimits[attempt[0]];
    throw tooManyAttemptsError(Math.max(1, Math.ceil((1 - result.tokens) / perSecond)));
  }

  /** Returns false if the bucket is empty. */
  async tryTake(attempt: ThrottleAttempt): Promise<boolean> {
    const [result] = await this.#take([attempt], 1);
    return result?.allowed === true;
  }

  /** Returns the tokens of attempts that succeeded. */
  async refund(...attempts: readonly ThrottleAttempt[]): Promise<void> {
    await this.#take(attempts, -1);
  }

  async #take(attempts: readonly ThrottleAttempt[], count: number) {
    if (attempts.length === 0) return [];
    return await this.#store.take(
      attempts.map(([kind, subject]) => ({ id: bucketKey(kind, subject), limit: throttleLimits[kind] })),
      count,
    );
  }
}

function tooManyAttemptsError(retryAfterS: number): AppError {
  const wait = retryAfterS < 90 ? `${retryAfterS} seconds` : `${Math.ceil(retryAfterS / 60)} minutes`;
  return new AppError("TooManyRequestsException", `Too many attempts. Try again in ${wait}.`, {
    headers: { "Retry-After": String(retryAfterS) },
  });
}

/** Hashed, so that the table contains no e-mail addresses, IP addresses or codes. */
function bucketKey(kind: ThrottleKind, subject: string): string {
  const bucket = throttleLimits[kind].bucketOf(subject);
  return `${kind}:${createHash("sha256").update(bucket).digest("base64url").slice(0, 22)}`;
}
