/** Which keys a user or a key created, found in a list of keys as `apiKeys` returns it. */

interface Key {
  readonly id: string;
  /** The id of the user or key that created it. */
  readonly createdBy: string;
  readonly revokedAt: string | null;
  readonly expiresAt: string | null;
}

/** The good keys that `creator` created, and those that these created. Ended keys count only as creators. */
export function keysCreatedBy<K extends Key>(keys: readonly K[], creator: string, nowMs: number): K[] {
  const creators = new Set([creator]);
  const found: K[] = [];
  // A key is created after its creator, so one pass over the keys, oldest first, finds them all.
  for (const key of keys) {
    if (!creators.has(key.createdBy)) continue;
    creators.add(key.id);
    if (!hasEnded(key, nowMs)) found.push(key);
  }
  return found;
}

export function hasEnded({ revokedAt, expiresAt }: Omit<Key, "id" | "createdBy">, nowMs: number): boolean {
  return revokedAt !== null || (expiresAt !== null && Date.parse(expiresAt) <= nowMs);
}
