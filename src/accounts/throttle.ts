/** Tries of passwords, codes and links, bounded for each account and each address, in all processes together. */
import { createHash } from "node:crypto";
import { AppError } from "../platform/errors.ts";
import { networkOf } from "../platform/network.ts";
import type { TokenRate } from "../platform/token-bucket.ts";

/** So many at once, and then one every so often. */
const perMinutes = (burst: number, minutesForOne: number): TokenRate => ({
  burst,
  perSecond: 1 / (60 * minutesForOne),
});

/** What is told in the second half of the name is what the bucket belongs to. */
const limits = {
  /** Wrong passwords for an account from one network (IPv4 address, IPv6 /64), by browsers that are not known. */
  "sign-in-network": perMinutes(10, 1),
  /** Wrong passwords for all accounts from one network. */
  "sign-in-address": perMinutes(60, 1 / 12),
  /** Wrong passwords from one known browser (known-browser.ts). */
  "sign-in-browser": perMinutes(10, 1),
  /** All tries for an account by browsers that are not known, successful ones included: against guesses from many networks. */
  "sign-ins-account": perMinutes(100, 1 / 5),
  /** All tries for an account by its known browsers, successful ones included: each costs a hash. */
  "sign-ins-known": perMinutes(100, 1),
  /** Passwords that signed-in people give again. */
  "password-account": perMinutes(10, 1),
  "second-factor-account": perMinutes(10, 1),
  "second-factor-address": perMinutes(60, 1 / 12),
  /**
   * Mails to one address, each reason for itself: forms that anybody may send must not keep back the mail that the person
   * waits for, nor may what one organisation is told depend on what others, or the service, have written.
   */
  "reset-account": perMinutes(3, 20),
  "request-account": perMinutes(3, 20),
  "invitation-account": perMinutes(3, 20),
  /** Invitations of one organisation: an owner must not write to the whole world through us. */
  "invitation-group": perMinutes(150, 1),
  /** Forms that anybody may send: requests, forgotten passwords. */
  "form-address": perMinutes(20, 1),
  /** Links that are looked at or followed. */
  "link-address": perMinutes(60, 1 / 12),
  /** Each code once in the time in which it would be right. */
  "code-once": perMinutes(1, 3),
} as const satisfies Record<string, TokenRate>;

export type ThrottleKind = keyof typeof limits;

/** What of, and whose: an e-mail address, a user's uuid, an IP address. */
export type Try = readonly [kind: ThrottleKind, of: string];

export interface Throttle {
  /** Takes one of each, in this order; throws TooManyRequestsException, with Retry-After, where one has none left. */
  take(...tries: readonly Try[]): Promise<void>;
  /** The same, told as a boolean. */
  allows(one: Try): Promise<boolean>;
  /** For tries that succeeded: what went well costs nothing. */
  giveBack(...tries: readonly Try[]): Promise<void>;
}

/** Token buckets that all processes share (api-keys/rate-limit.store.ts). */
export interface BucketStore {
  take(
    bucket: string,
    limit: TokenRate,
    count: number,
  ): Promise<{ allowed: boolean; tokens: number }> | { allowed: boolean; tokens: number };
}

export function createThrottle(store: BucketStore): Throttle {
  const takeOne = ([kind, of]: Try, count: number) => store.take(bucketOf(kind, of), limits[kind], count);
  return {
    async take(...tries) {
      for (const one of tries) {
        const { allowed, tokens } = await takeOne(one, 1);
        if (!allowed) throw tooMany(Math.max(1, Math.ceil((1 - tokens) / limits[one[0]].perSecond)));
      }
    },
    async allows(one) {
      return (await takeOne(one, 1)).allowed;
    },
    async giveBack(...tries) {
      for (const one of tries) await takeOne(one, -1);
    },
  };
}

function tooMany(retryAfterS: number): AppError {
  const wait = retryAfterS < 90 ? `${retryAfterS} seconds` : `${Math.ceil(retryAfterS / 60)} minutes`;
  return new AppError("TooManyRequestsException", `Too many tries. Try again in ${wait}.`, {
    headers: { "Retry-After": String(retryAfterS) },
  });
}

/** Hashed, so that the table tells no addresses and no codes. */
function bucketOf(kind: ThrottleKind, of: string): string {
  const whose = kind.endsWith("-address") ? networkOf(of) : of;
  return `${kind}:${createHash("sha256").update(whose).digest("base64url").slice(0, 22)}`;
}
