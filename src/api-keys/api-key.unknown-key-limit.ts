/**
 * Limits look-ups of unknown keys in PostgreSQL per network. The checksum isn't secret, so anyone can make up well-formed
 * keys that only the database can reject. Cached keys are not affected.
 */
import type { Clock } from "../platform/clock.ts";
import { AppError } from "../platform/errors.ts";
import { networkOf } from "../platform/network.ts";
import { createMemoryStore } from "../rate-limits/api.ts";

/** Per IPv4 address or IPv6 /64, and process. */
export const unknownKeyRate = { perSecond: 20, burst: 100 } as const;

/** Runs `find` for a request from an IP address. Throws TooManyRequestsException if its network exceeds the limit. */
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
