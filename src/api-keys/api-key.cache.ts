/**
 * Caches API keys in memory. Every 400 ms it polls the access revision and drops keys that changed since. It serves keys
 * only while the last poll is fresh, so every process rejects a revoked key within a second, even without its database.
 */
import type { Queryable } from "../platform/postgres/database.ts";
import type { OperatorPrincipal, OrganizationType, OrganizationPrincipal } from "../platform/principal.ts";
import { sql } from "../platform/postgres/sql.ts";
import type { RateLimitOverrides } from "../rate-limits/api.ts";
import type { Scope } from "./api-key.entity.ts";
import { createCidrMatcher } from "../platform/cidr.ts";

/** The part that all key principals share. */
interface KeyAuthorization {
  readonly keyId: string;
  /** Names the token buckets: a key and the keys that replaced it by rotation share them. */
  readonly rateBucket: string;
  readonly scopes: readonly Scope[];
  readonly rateLimits: RateLimitOverrides | null;
}

/** A key of an organisation. */
export interface OrganizationKeyPrincipal extends OrganizationPrincipal, KeyAuthorization {}
export interface OperatorKeyPrincipal extends OperatorPrincipal, KeyAuthorization {}
export type ApiKeyPrincipal = OrganizationKeyPrincipal | OperatorKeyPrincipal;

export interface CachedKey {
  readonly principal: ApiKeyPrincipal;
  readonly hash: Buffer;
  readonly expiresAtMs: number;
  readonly suspended: boolean;
  readonly isAllowedFrom: (address: string) => boolean;
}

export interface KeyCache extends Disposable {
  /** Returns the unrevoked key with this lookup, null if there is none, undefined if the cache can't tell: call `load`. */
  get(lookup: string): CachedKey | null | undefined;
  /** Reads the key from PostgreSQL and caches it. Null if there is none. */
  load(lookup: string): Promise<CachedKey | null>;
}

interface KeyRow {
  id: string;
  secret_hash: Buffer;
  organization_id: string | null;
  organization_type: OrganizationType | null;
  scopes: Scope[];
  cidrs: string[] | null;
  rate_limits: RateLimitOverrides | null;
  rate_bucket: string | null;
  expires_at: string | null;
  suspended: boolean;
}

const POLL_INTERVAL_MS = 400;
const TTL_MS = 900;
const MAX_CACHED_KEYS = 50_000;
/** Look-ups that found no key are cached for this long; at most MAX_MISSES of them, the latest. */
const MISS_TTL_MS = 10_000;
const MAX_MISSES = 10_000;
/** Changed keys that one poll drops one by one. If more changed, it drops all keys. */
const MAX_CHANGED_PER_POLL = 1_000;

export function createKeyCache(database: Queryable): KeyCache {
  const cached = new Map<string, CachedKey>();
  /** The expiry of each miss, oldest first. */
  const misses = new Map<string, number>();
  let revision: number | null = null;
  // On the monotonic clock, so that setting the wall clock back doesn't extend it.
  let validUntilMs = 0;

  const poll = async (): Promise<void> => {
    const startedMs = performance.now();
    const [row] = await database.query<{ revision: number }>(sql`select revision from access_revision`);
    const read = row?.revision ?? null;
    if (read !== revision) {
      const changed = await changedSince(database, { revision, read });
      if (changed === null) cached.clear();
      else for (const lookup of changed) cached.delete(lookup);
      revision = read;
    }
    validUntilMs = startedMs + TTL_MS;
  };
  // A failed poll needs no log entry: the cache expires, and the next request queries the database itself.
  const timer = setInterval(() => void poll().catch(() => undefined), POLL_INTERVAL_MS);
  timer.unref();

  const rememberMiss = (lookup: string): void => {
    misses.delete(lookup);
    misses.set(lookup, performance.now() + MISS_TTL_MS);
    const [oldest] = misses.keys();
    if (oldest !== undefined && misses.size > MAX_MISSES) misses.delete(oldest);
  };

  return {
    get(lookup) {
      const nowMs = performance.now();
      if (nowMs >= validUntilMs) return undefined;
      return cached.get(lookup) ?? ((misses.get(lookup) ?? 0) > nowMs ? null : undefined);
    },
    async load(lookup) {
      const before = revision;
      const key = await loadKey(database, lookup);
      if (!key) rememberMiss(lookup);
      // If the revision changed during the query, the row may be outdated: don't cache it.
      if (key && before === revision && cached.size < MAX_CACHED_KEYS) cached.set(lookup, key);
      return key;
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

/** Returns the lookups of keys changed after `revision`. Null means all: too many changed, or a restore lowered the revision. */
async function changedSince(
  database: Queryable,
  { revision, read }: { revision: number | null; read: number | null },
): Promise<string[] | null> {
  if (revision === null || read === null || read < revision) return null;
  const rows = await database.query<{ lookup: string }>(sql`
    select lookup from api_key where access_revision > ${revision}::int limit ${MAX_CHANGED_PER_POLL + 1}::int`);
  return rows.length <= MAX_CHANGED_PER_POLL ? rows.map(({ lookup }) => lookup) : null;
}

async function loadKey(database: Queryable, lookup: string): Promise<CachedKey | null> {
  const [row] = await database.query<KeyRow>(sql`
    select api_key.id, secret_hash, organization_id, organization.type as organization_type, scopes, cidrs, rate_limits,
      rate_bucket, expires_at, suspended_at is not null as suspended
    from api_key left join organization on organization.id = organization_id
    where lookup = ${lookup} and revoked_at is null`);
  return row ? toCachedKey(row) : null;
}

function toCachedKey(row: KeyRow): CachedKey {
  return {
    principal: toPrincipal(row),
    hash: row.secret_hash,
    expiresAtMs: row.expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(row.expires_at),
    suspended: row.suspended,
    isAllowedFrom: row.cidrs === null ? () => true : createCidrMatcher(row.cidrs),
  };
}

function toPrincipal(row: KeyRow): ApiKeyPrincipal {
  const { id, organization_id, organization_type, scopes, rate_limits: rateLimits } = row;
  const rateBucket = row.rate_bucket ?? id;
  const grant = { keyId: id, rateBucket, scopes, rateLimits, actor: { type: "key", id } } as const;
  return organization_id !== null && organization_type !== null
    ? { ...grant, organizationId: organization_id, organizationType: organization_type }
    : { ...grant, organizationId: null, organizationType: null };
}
