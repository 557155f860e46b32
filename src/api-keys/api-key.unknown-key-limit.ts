/**
 * Limits look-ups of unknown keys in PostgreSQL. A key's checksum is public, so anybody can make up keys that only the database
 * can tell from real ones. Keys that this process has in memory are not affected.
 */
import type { Clock } from "../platform/clock.ts";
import { AppError } from "../platform/errors.ts";
import { networkOf } from "../platform/network.ts";
import { createMemoryStore } from "../rate-limits/api.ts";

/** For each IPv4 address or IPv6 /64. */
export const unknownKeyRate = { perSecond: 20, burst: 100 } as const;

/** Runs `find` for a request from `address`. Throws TooManyRequestsException where its network has looked up too many. */
export type LimitUnknownKeys = <Key>(address: string, find: () => Promise<Key | null>) => Promise<Key | null>;

export function createUnknownKeyLimit(clock: Clock): LimitUnknownKeys {
  const store = createMemoryStore(clock);
  return async (address, find) => {
    const network = networkOf(address);
    const { allowed } = await store.take(network, unknownKeyRate, 1);
    if (!allowed)
      throw new AppError(
        "TooManyRequestsException",
        "Too many requests from this IP address came with unknown API keys. Try again in 1 s.",
        { headers: { "Retry-After": "1" } },
      );
    let isUnknown = false;
    try {
      const key = await find();
      isUnknown = key === null;
      return key;
    } finally {
      if (!isUnknown) await store.take(network, unknownKeyRate, -1);
    }
  };
}
