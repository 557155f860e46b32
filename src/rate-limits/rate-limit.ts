/**
 * Rate limits, the same for REST and GraphQL: a token bucket for each key or user and class of request, and one for all keys,
 * or all users, of an organisation together.
 */
import { AppError } from "../platform/errors.ts";
import type { TokenRate } from "../platform/concurrency/token-bucket.ts";
import type { RateLimitStore, TakeResult } from "./rate-limit.store.ts";

/** A request takes one token, a mutation of several fields one for each. */
export type RateLimit = TokenRate;

export const defaultRateLimits = {
  read: { perSecond: 50, burst: 100 },
  write: { perSecond: 25, burst: 50 },
  batch: { perSecond: 5, burst: 10 },
} as const satisfies Record<string, RateLimit>;

/** Requests a second and the burst above it, per class of request; null: no limit, absent: the service's. */
export interface RateLimitOverrides {
  read?: { perSecond: number; burst: number } | null | undefined;
  write?: { perSecond: number; burst: number } | null | undefined;
  batch?: { perSecond: number; burst: number } | null | undefined;
}

export type RateLimitClass = keyof typeof defaultRateLimits;

export interface RateLimits {
  readonly store: RateLimitStore;
  /** How many times the limits of one key, or one user, all of an organisation have together. */
  readonly organizationFactor: number;
}

/** Whose tokens a request takes. */
export interface RateLimitSubject {
  readonly kind: "key" | "user" | "network";
  /** The user's uuid, that of the key or of the first key that it replaced, or the network of a caller without any. */
  readonly bucketKey: string;
  /** Null: an operator's, which has no organisation to share with. */
  readonly organizationId: string | null;
  /** Their own limits instead of the service's. */
  readonly rateLimits: RateLimitOverrides | null;
}

export const rateLimitClasses = Object.keys(defaultRateLimits) as readonly RateLimitClass[];

/** `own`: limits instead of the service's. Null: there is none. */
export function effectiveLimit(overrides: RateLimitOverrides | null, kind: RateLimitClass): RateLimit | null {
  const ownLimit = overrides?.[kind];
  return ownLimit === undefined ? defaultRateLimits[kind] : ownLimit;
}

/**
 * The limit of all keys of an organisation together: `factor` times the service's limit for one key, or the asking key's own
 * where that is higher, so that no key meets it alone.
 */
export function organizationLimit(
  { perSecond, burst }: RateLimit,
  kind: RateLimitClass,
  factor: number,
): RateLimit {
  const service = defaultRateLimits[kind];
  return {
    perSecond: factor * Math.max(perSecond, service.perSecond),
    burst: Math.floor(factor * Math.max(burst, service.burst)),
  };
}

/** Sets a header of the answer. */
type SetHeader = (name: string, value: string) => void;

/**
 * Takes a token of the owner's bucket for this class of request and one of its organisation's, and sets both families of
 * headers. Null `limits`: rate limits are off. Throws TooManyRequestsException where there is no token.
 */
export async function takeToken(
  limits: RateLimits | null,
  subject: RateLimitSubject,
  kind: RateLimitClass,
  setHeader: SetHeader,
): Promise<void> {
  await takeTokens(limits, subject, { kind, count: 1 }, setHeader);
}

/** The same for several tokens of one class: all of them, or none where they are not all there. */
export async function takeTokens(
  limits: RateLimits | null,
  subject: RateLimitSubject,
  { kind, count }: { kind: RateLimitClass; count: number },
  setHeader: SetHeader,
): Promise<void> {
  const limit = limits && effectiveLimit(subject.rateLimits, kind);
  if (!limit) return;
  const taken = await takeFromBuckets(limits, subject, { kind, limit, count });
  setHeaders(taken, setHeader);
  const exhausted = taken.find(({ allowed }) => !allowed);
  if (exhausted) throw rateLimitError(exhausted, kind, count);
}

/** What was taken of one bucket. */
interface TakenLimit extends TakeResult {
  /** Of the policy, in the headers. */
  readonly name: string;
  /** Whose limit it is, in the message of a refusal. */
  readonly appliesTo: string;
  readonly limit: RateLimit;
}

async function takeFromBuckets(
  { store, organizationFactor }: RateLimits,
  subject: RateLimitSubject,
  { kind, limit, count }: { kind: RateLimitClass; limit: RateLimit; count: number },
): Promise<TakenLimit[]> {
  const own = { id: `${subject.bucketKey}:${kind}`, limit };
  const ownPolicy = { name: kind, appliesTo: `for each ${subject.kind}`, limit };
  if (subject.organizationId === null) return [{ ...ownPolicy, ...(await store.take(own.id, limit, count)) }];
  // Programs and users have a bucket each: a program that sends too much must not keep its owners out of the console.
  const shared = {
    id: `${subject.organizationId}:${subject.kind}s:${kind}`,
    limit: organizationLimit(limit, kind, organizationFactor),
  };
  const [ofOwn, ofShared] = await store.takeBoth(own, shared, count);
  const appliesTo = `for all ${subject.kind}s of an organisation together`;
  return [
    { ...ownPolicy, ...ofOwn },
    { name: `${kind}-organization`, appliesTo, limit: shared.limit, ...ofShared },
  ];
}

/** The `X-` headers have room for one limit: the one that refuses, or else the one with the fewest requests left. */
function setHeaders(draws: readonly TakenLimit[], setHeader: SetHeader): void {
  const list = (toItem: (draw: TakenLimit) => string): string => draws.map(toItem).join(", ");
  setHeader(
    "RateLimit-Policy",
    list(({ name, limit }) => `"${name}";q=${limit.burst};w=${Math.ceil(limit.burst / limit.perSecond)}`),
  );
  setHeader(
    "RateLimit",
    list((draw) => `"${draw.name}";r=${Math.floor(draw.tokens)};t=${secondsUntilFull(draw)}`),
  );
  const tightest = draws.reduce((before, next) =>
    before.allowed && (!next.allowed || next.tokens < before.tokens) ? next : before,
  );
  setHeader("X-RateLimit-Limit", String(tightest.limit.burst));
  setHeader("X-RateLimit-Remaining", String(Math.floor(tightest.tokens)));
  setHeader("X-RateLimit-Reset", String(secondsUntilFull(tightest)));
}

function secondsUntilFull({ limit, tokens }: TakenLimit): number {
  return Math.ceil((limit.burst - tokens) / limit.perSecond);
}

function rateLimitError(
  { limit, tokens, appliesTo }: TakenLimit,
  kind: RateLimitClass,
  count: number,
): AppError {
  const retryAfterS = Math.max(1, Math.ceil((Math.min(count, limit.burst) - tokens) / limit.perSecond));
  const advice =
    count > limit.burst ? `Send fewer than these ${count} at once` : `Try again in ${retryAfterS} s`;
  const message = `Too many ${kind} requests: the limit ${appliesTo} is ${limit.perSecond} a second, ${limit.burst} at once. ${advice}.`;
  return new AppError("TooManyRequestsException", message, {
    headers: { "Retry-After": String(retryAfterS) },
  });
}
