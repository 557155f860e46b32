/** Who asks: whoever holds a key, or a person who is signed in. A person has no `keyId`. */
import type { OperatorSession, SessionHolder } from "../accounts/session.holder.ts";
import type { KeyHolder, OperatorKey } from "../api-keys/api-key.memory.ts";
import type { BucketOwner } from "../api-keys/rate-limit.ts";

export type Holder = KeyHolder | SessionHolder;
export type OperatorHolder = OperatorKey | OperatorSession;

export function isPerson(holder: Holder): holder is SessionHolder {
  return holder.keyId === null;
}

/** A person has one bucket, with however many sessions. */
export function bucketOf(holder: Holder): BucketOwner {
  const { organizationId, rateLimits } = holder;
  return isPerson(holder)
    ? { kind: "user", bucket: holder.user.id, organizationId, rateLimits }
    : { kind: "key", bucket: holder.rateBucket, organizationId, rateLimits };
}
