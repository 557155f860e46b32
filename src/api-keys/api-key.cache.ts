/**
 * A cache of keys, so that a request does not query PostgreSQL for its key. The access revision is polled twice a second;
 * when it has grown, the keys with a higher revision are dropped. The cache is used only while the last poll is fresh. So a
 * revoked key ends within a second in every process, also in one that lost the database or was suspended.
 */
import type { Queryable } from "../platform/postgres/database.ts";
import type { OperatorPrincipal, OrganizationType, OrganizationPrincipal } from "../platform/principal.ts";
import { sql } from "../platform/postgres/sql.ts";
import type { RateLimitOverrides } from "../rate-limits/api.ts";
import type { Scope } from "./api-key.entity.ts";
import { createCidrMatcher } from "../platform/cidr.ts";

/** What a key may do, whoever it speaks for. */
interface KeyAuthorization {
  readonly keyId: string;
  /** Whose token buckets it draws from: the same for a key and the one that replaced it. */
  readonly rateBucket: string;
  readonly scopes: readonly Scope[];
  readonly rateLimits: RateLimitOverrides | null;
}

/** A partner's key. */
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
  /** The unrevoked key with these eight characters. Null: there is none. Undefined: memory cannot tell, and `find` can. */
  get(lookup: string): CachedKey | null | undefined;
  /** The same from PostgreSQL. */
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
/** Look-ups that found no key are remembered for so long, and the latest of them. */
const MISS_TTL_MS = 10_000;
const MAX_MISSES = 10_000;
/** Changed keys that one poll drops by name; where there are more, it drops all. */
const MAX_CHANGED_PER_POLL = 1_000;

export function createKeyCache(database: Queryable): KeyCache {
  const cached = new Map<string, CachedKey>();
  /** When each miss is no longer trusted; the oldest first. */
  const misses = new Map<string, number>();
  let revision: number | null = null;
  // On the monotonic clock: a wall clock that is set back must not prolong trust.
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
  // A reading that fails is not worth a word here: memory goes stale, and the next request meets the database itself.
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
      // A change that came to be known meanwhile may be one that this row does not show yet.
      if (key && before === revision && cached.size < MAX_CACHED_KEYS) cached.set(lookup, key);
      return key;
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

/** The lookups of the keys that changed after `revision`. Null for all keys: too many changed, or a restore took the number back. */
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
