/** Keys in a list as `apiKeys` returns it: those that a user or a key created, inactive ones, and those that expire soon. */

interface KeyRecord {
  readonly id: string;
  /** The id of the user or key that created it. */
  readonly createdBy: string;
  readonly revokedAt: string | null;
  readonly expiresAt: string | null;
}

/** The active keys that `creatorId` created, directly or through other keys. Inactive keys count only as creators. */
export function keysCreatedBy<K extends KeyRecord>(
  keys: readonly K[],
  creatorId: string,
  nowMs: number,
): K[] {
  const creatorIds = new Set([creatorId]);
  const result: K[] = [];
  // A key is created after its creator, so one pass over the keys, oldest first, finds them all.
  for (const key of keys) {
    if (!creatorIds.has(key.createdBy)) continue;
    creatorIds.add(key.id);
    if (!isInactive(key, nowMs)) result.push(key);
  }
  return result;
}

export function isInactive(
  { revokedAt, expiresAt }: Omit<KeyRecord, "id" | "createdBy">,
  nowMs: number,
): boolean {
  return revokedAt !== null || (expiresAt !== null && Date.parse(expiresAt) <= nowMs);
}

const EXPIRES_SOON_MS = 14 * 86_400_000;

/** True within 14 days of the expiry, as in the list of organisations that need attention, and after it. */
export function expiresSoon(expiresAt: string, nowMs: number): boolean {
  return Date.parse(expiresAt) - nowMs < EXPIRES_SOON_MS;
}
