/**
 * Rate limits for REST and GraphQL: per class of request, one token bucket for each key or user, and one shared by all keys
 * or all users of an organisation.
 */
import { AppError } from "../core/errors.ts";
import type { TokenRate } from "../core/concurrency/token-bucket.ts";
import type { BucketRequest, RateLimitStore, TakeResult } from "./store.ts";

/** By class of request. A request takes one token; a GraphQL mutation takes one per field. */
export const defaultRateLimits = {
  read: { perSecond: 50, burst: 100 },
  write: { perSecond: 25, burst: 50 },
  batch: { perSecond: 5, burst: 10 },
} as const satisfies Record<string, TokenRate>;

export type RateLimitClass = keyof typeof defaultRateLimits;

/** Overrides per class of request. Null: no limit. Absent: the service's limit. */
export type RateLimitOverrides = { [Kind in RateLimitClass]?: TokenRate | null | undefined };

/** Null in the dependencies of others: rate limits are off. */
export interface RateLimits {
  readonly store: RateLimitStore;
  /** The organisation's shared limit, as a multiple of the limit of one key or user. */
  readonly organizationFactor: number;
}

/** The principal or network whose tokens a request takes. */
export interface RateLimitSubject {
  readonly kind: "key" | "user" | "network";
  /** The user's uuid, the uuid of the key or of the first key of its rotations, or the network of an unauthenticated client. */
  readonly bucketKey: string;
  /** The partner (UUID) whose keys or users share a limit; null for operators and unauthenticated clients, who share none. */
  readonly partnerId: string | null;
  readonly rateLimits: RateLimitOverrides | null;
}

export const rateLimitClasses = Object.keys(defaultRateLimits) as readonly RateLimitClass[];

/** Returns null if there is no limit. */
export function effectiveLimit(overrides: RateLimitOverrides | null, kind: RateLimitClass): TokenRate | null {
  const ownLimit = overrides?.[kind];
  return ownLimit === undefined ? defaultRateLimits[kind] : ownLimit;
}

/**
 * Returns the shared limit of an organisation: `factor` times the service's limit or the key's own, whichever is higher, so
 * that one key alone never reaches it.
 */
export function organizationLimit(
  { perSecond, burst }: TokenRate,
  kind: RateLimitClass,
  factor: number,
): TokenRate {
  const service = defaultRateLimits[kind];
  return {
    perSecond: factor * Math.max(perSecond, service.perSecond),
    burst: Math.floor(factor * Math.max(burst, service.burst)),
  };
}

export interface RateLimitView extends TokenRate {
  readonly class: RateLimitClass;
  /** Shared by all keys of the organisation; null for operators. */
  readonly organization: TokenRate | null;
}

/** Returns the limits of a key or user, without the classes that have none. Empty if rate limits are off. */
export function rateLimitsOf(
  limits: RateLimits | null,
  { rateLimits, partnerId }: Pick<RateLimitSubject, "rateLimits" | "partnerId">,
): RateLimitView[] {
  if (!limits) return [];
  return rateLimitClasses.flatMap((kind) => {
    const limit = effectiveLimit(rateLimits, kind);
    if (!limit) return [];
    const isShared = partnerId !== null;
    const organization = isShared ? organizationLimit(limit, kind, limits.organizationFactor) : null;
    return [{ class: kind, ...limit, organization }];
  });
}

type SetHeader = (name: string, value: string) => void;

/** A request of class `kind` that takes `count` tokens; default: one. */
interface TokenRequest {
  readonly kind: RateLimitClass;
  readonly count?: number;
}

/**
 * Takes tokens from the subject's bucket and from its organisation's, all or none, and sets the `RateLimit` and `X-RateLimit`
 * headers. Null `limits`: rate limits are off. Throws TooManyRequestsException if a bucket has too few.
 */
export async function takeTokens(
  limits: RateLimits | null,
  subject: RateLimitSubject,
  { kind, count = 1 }: TokenRequest,
  setHeader: SetHeader,
): Promise<void> {
  const limit = limits && effectiveLimit(subject.rateLimits, kind);
  if (!limit) return;
  const taken = await takeFromBuckets(limits, subject, { kind, limit, count });
  setLimitHeaders(taken, setHeader);
  const exhausted = taken.find(({ allowed }) => !allowed);
  if (exhausted) throw rateLimitError(exhausted, kind, count);
}

/**
 * Returns the error of a request of class `kind` of a subject without tokens and sets its headers, without taking tokens. It is
 * the error of the service's limit if the subject has none.
 */
export async function exhaustLimit(
  limits: RateLimits | null,
  subject: RateLimitSubject,
  kind: RateLimitClass,
  setHeader: SetHeader,
): Promise<AppError> {
  const limit = effectiveLimit(subject.rateLimits, kind) ?? defaultRateLimits[kind];
  const own = { ...ownBucket(subject, kind, limit), tokens: 0, allowed: false };
  const [, ...shared] = limits ? await takeFromBuckets(limits, subject, { kind, limit, count: 0 }) : [];
  setLimitHeaders([own, ...shared], setHeader);
  return rateLimitError(own, kind, 1);
}

interface LimitedBucket extends BucketRequest {
  /** The policy name in the headers. */
  readonly name: string;
  /** Describes the limit's scope in the error message. */
  readonly appliesTo: string;
}

type TakenLimit = LimitedBucket & TakeResult;

function ownBucket(subject: RateLimitSubject, kind: RateLimitClass, limit: TokenRate): LimitedBucket {
  return { id: `${subject.bucketKey}:${kind}`, name: kind, appliesTo: `for each ${subject.kind}`, limit };
}

async function takeFromBuckets(
  { store, organizationFactor }: RateLimits,
  subject: RateLimitSubject,
  { kind, limit, count }: { kind: RateLimitClass; limit: TokenRate; count: number },
): Promise<TakenLimit[]> {
  // Keys and users have separate shared buckets, so that a busy integration can't lock the owners out of the console.
  const shared = {
    id: `${subject.partnerId}:${subject.kind}s:${kind}`,
    name: `${kind}-organization`,
    appliesTo: `for all ${subject.kind}s of an organisation together`,
    limit: organizationLimit(limit, kind, organizationFactor),
  };
  const own = ownBucket(subject, kind, limit);
  const buckets = subject.partnerId === null ? [own] : [own, shared];
  const results = await store.take(buckets, count);
  return buckets.map((bucket, index) => ({ ...bucket, ...(results[index] as TakeResult) }));
}

function setLimitHeaders(taken: readonly TakenLimit[], setHeader: SetHeader): void {
  for (const [name, value] of Object.entries(limitHeaders(taken))) setHeader(name, value);
}

/** Returns the `RateLimit` and `X-RateLimit` headers. The latter describe one limit: the exceeded one, or else the one with the fewest requests left. */
export function limitHeaders(taken: readonly Omit<TakenLimit, "id" | "appliesTo">[]): Record<string, string> {
  const list = (toItem: (one: (typeof taken)[number]) => string): string => taken.map(toItem).join(", ");
  const tightest = taken.reduce((before, next) =>
    before.allowed && (!next.allowed || next.tokens < before.tokens) ? next : before,
  );
  return {
    "RateLimit-Policy": list(
      ({ name, limit }) => `"${name}";q=${limit.burst};w=${Math.ceil(limit.burst / limit.perSecond)}`,
    ),
    RateLimit: list((one) => `"${one.name}";r=${Math.floor(one.tokens)};t=${secondsUntilFull(one)}`),
    "X-RateLimit-Limit": String(tightest.limit.burst),
    "X-RateLimit-Remaining": String(Math.floor(tightest.tokens)),
    "X-RateLimit-Reset": String(secondsUntilFull(tightest)),
  };
}

function secondsUntilFull({ limit, tokens }: Pick<TakenLimit, "limit" | "tokens">): number {
  return Math.ceil((limit.burst - tokens) / limit.perSecond);
}

function rateLimitError(
  { limit, tokens, appliesTo }: TakenLimit,
  kind: RateLimitClass,
  count: number,
): AppError {
  const retryAfterS = Math.max(1, Math.ceil((Math.min(count, limit.burst) - tokens) / limit.perSecond));
  const advice =
    count > limit.burst ? `Send fewer than ${count} in one request` : `Try again in ${retryAfterS} s`;
  const message = `Too many ${kind} requests: the limit ${appliesTo} is ${limit.perSecond} a second with a burst of ${limit.burst}. ${advice}.`;
  return new AppError("TooManyRequestsException", message, {
    headers: { "Retry-After": String(retryAfterS) },
  });
}
