/** Rate limits: a token bucket for each key or person and class of request, the same for REST and GraphQL. */
import { AppError } from "../platform/errors.ts";
import type { TokenRate } from "../platform/token-bucket.ts";
import type { KeyRateLimits } from "./api-key.entity.ts";
import type { RateLimitStore } from "./rate-limit.store.ts";

/** A request takes one token, a mutation of several fields one for each. */
export type RateLimit = TokenRate;

export const defaultRateLimits = {
  read: { perSecond: 50, burst: 100 },
  write: { perSecond: 25, burst: 50 },
  batch: { perSecond: 5, burst: 10 },
} as const satisfies Record<string, RateLimit>;

export type RateLimitClass = keyof typeof defaultRateLimits;

/** Whose bucket it is. */
export interface BucketOwner {
  /** A key's or a person's uuid. */
  readonly bucket: string;
  /** Their own limits instead of the service's. */
  readonly rateLimits: KeyRateLimits | null;
}

export const rateLimitClasses = Object.keys(defaultRateLimits) as readonly RateLimitClass[];

/** `own`: limits instead of the service's. Null: there is none. */
export function limitOf(own: KeyRateLimits | null, kind: RateLimitClass): RateLimit | null {
  const ownLimit = own?.[kind];
  return ownLimit === undefined ? defaultRateLimits[kind] : ownLimit;
}

/** How a response is told of its caller's bucket. */
type SetHeader = (name: string, value: string) => void;

/**
 * Takes a token of the owner's bucket for this class of request and sets both families of headers. A null `store`: rate
 * limits are off. Throws TooManyRequestsException where there is no token.
 */
export async function takeToken(
  store: RateLimitStore | null,
  owner: BucketOwner,
  kind: RateLimitClass,
  setHeader: SetHeader,
): Promise<void> {
  await takeTokens(store, owner, { kind, count: 1 }, setHeader);
}

/** The same for several tokens of one class: all of them, or none where they are not all there. */
export async function takeTokens(
  store: RateLimitStore | null,
  { bucket, rateLimits }: BucketOwner,
  { kind, count }: { kind: RateLimitClass; count: number },
  setHeader: SetHeader,
): Promise<void> {
  if (!store) return;
  const limit = limitOf(rateLimits, kind);
  if (!limit) return;
  const { allowed, tokens } = await store.take(`${bucket}:${kind}`, limit, count);
  const remaining = Math.floor(tokens);
  const fullInS = Math.ceil((limit.burst - tokens) / limit.perSecond);
  setHeader("RateLimit-Policy", `"${kind}";q=${limit.burst};w=${Math.ceil(limit.burst / limit.perSecond)}`);
  setHeader("RateLimit", `"${kind}";r=${remaining};t=${fullInS}`);
  setHeader("X-RateLimit-Limit", String(limit.burst));
  setHeader("X-RateLimit-Remaining", String(remaining));
  setHeader("X-RateLimit-Reset", String(fullInS));
  if (!allowed) throw tooMany(kind, limit, { count, tokens });
}

function tooMany(
  kind: RateLimitClass,
  limit: RateLimit,
  { count, tokens }: { count: number; tokens: number },
): AppError {
  const retryAfterS = Math.max(1, Math.ceil((Math.min(count, limit.burst) - tokens) / limit.perSecond));
  const advice =
    count > limit.burst ? `Send fewer than these ${count} at once` : `Try again in ${retryAfterS} s`;
  const message = `Too many ${kind} requests: ${limit.perSecond} a second, ${limit.burst} at once. ${advice}.`;
  return new AppError("TooManyRequestsException", message, {
    headers: { "Retry-After": String(retryAfterS) },
  });
}
