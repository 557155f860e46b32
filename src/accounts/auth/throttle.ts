/** Tries of passwords, codes and links, bounded for each account and each address, in all processes together. */
import { createHash } from "node:crypto";
import { AppError } from "../../platform/errors.ts";
import { networkOf } from "../../platform/network.ts";
import type { TokenRate } from "../../platform/concurrency/token-bucket.ts";

/** So many at once, and then one every so often. */
const tokenRate = (burst: number, minutesPerToken: number): TokenRate => ({
  burst,
  perSecond: 1 / (60 * minutesPerToken),
});

/** What is told in the second half of the name is what the bucket belongs to. */
const throttleLimits = {
  /** Wrong passwords for an account from one network (IPv4 address, IPv6 /64), by browsers that are not known. */
  "sign-in-network": tokenRate(10, 1),
  /** Wrong passwords for all accounts from one network. */
  "sign-in-address": tokenRate(60, 1 / 12),
  /** Wrong passwords from one known browser (known-browser.ts). */
  "sign-in-browser": tokenRate(10, 1),
  /** All tries for an account by browsers that are not known, successful ones included: against guesses from many networks. */
  "sign-in-total-account": tokenRate(100, 1 / 5),
  /** All tries for an account by its known browsers, successful ones included: each costs a hash. */
  "sign-in-total-known": tokenRate(100, 1),
  /** Passwords that signed-in people give again. */
  "password-account": tokenRate(10, 1),
  "two-factor-account": tokenRate(10, 1),
  "two-factor-address": tokenRate(60, 1 / 12),
  /**
   * Mails to one address, each reason for itself: forms that anybody may send must not keep back the mail that the person
   * waits for, nor may what one organisation is told depend on what others, or the service, have written.
   */
  "reset-account": tokenRate(3, 20),
  "request-account": tokenRate(3, 20),
  "invitation-account": tokenRate(3, 20),
  /** Invitations of one organisation: an owner must not write to the whole world through us. */
  "invitation-group": tokenRate(150, 1),
  /** Forms that anybody may send: requests, forgotten passwords. */
  "form-address": tokenRate(20, 1),
  /** Links that are looked at or followed. */
  "link-address": tokenRate(60, 1 / 12),
  /** Each code once in the time in which it would be right. */
  "totp-replay": tokenRate(1, 3),
} as const satisfies Record<string, TokenRate>;

export type ThrottleKind = keyof typeof throttleLimits;

/** What of, and whose: an e-mail address, a user's uuid, an IP address. */
export type ThrottleAttempt = readonly [kind: ThrottleKind, of: string];

export interface Throttle {
  /** Takes one of each, in this order; throws TooManyRequestsException, with Retry-After, where one has none left. */
  take(...tries: readonly ThrottleAttempt[]): Promise<void>;
  /** The same, told as a boolean. */
  tryTake(one: ThrottleAttempt): Promise<boolean>;
  /** For tries that succeeded: what went well costs nothing. */
  refund(...tries: readonly ThrottleAttempt[]): Promise<void>;
}

/** Token buckets that all processes share (api-keys/rate-limit.store.ts). */
export interface TokenBucketStore {
  take(
    bucket: string,
    limit: TokenRate,
    count: number,
  ): Promise<{ allowed: boolean; tokens: number }> | { allowed: boolean; tokens: number };
}

export function createThrottle(store: TokenBucketStore): Throttle {
  const takeOne = ([kind, subject]: ThrottleAttempt, count: number) =>
    store.take(bucketKey(kind, subject), throttleLimits[kind], count);
  return {
    async take(...attempts) {
      for (const attempt of attempts) {
        const { allowed, tokens } = await takeOne(attempt, 1);
        if (!allowed)
          throw tooManyAttemptsError(
            Math.max(1, Math.ceil((1 - tokens) / throttleLimits[attempt[0]].perSecond)),
          );
      }
    },
    async tryTake(one) {
      return (await takeOne(one, 1)).allowed;
    },
    async refund(...tries) {
      for (const one of tries) await takeOne(one, -1);
    },
  };
}

function tooManyAttemptsError(retryAfterS: number): AppError {
  const wait = retryAfterS < 90 ? `${retryAfterS} seconds` : `${Math.ceil(retryAfterS / 60)} minutes`;
  return new AppError("TooManyRequestsException", `Too many tries. Try again in ${wait}.`, {
    headers: { "Retry-After": String(retryAfterS) },
  });
}

/** Hashed, so that the table tells no addresses and no codes. */
function bucketKey(kind: ThrottleKind, subject: string): string {
  const bucketSubject = kind.endsWith("-address") ? networkOf(subject) : subject;
  return `${kind}:${createHash("sha256").update(bucketSubject).digest("base64url").slice(0, 22)}`;
}
