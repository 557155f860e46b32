/**
 * A cache of keys, so that a request does not query PostgreSQL for its key. The access revision is polled twice a second;
 * when it has grown, the keys with a higher revision are dropped. The cache is used only while the last poll is fresh. So a
 * revoked key ends within a second in every process, also in one that lost the database or was suspended.
 */
import type { Queryable } from "../platform/database.ts";
import type { Operator, OrganizationType, Principal } from "../platform/principal.ts";
import { sql } from "../platform/sql.ts";
import type { KeyRateLimits, Scope } from "./api-key.entity.ts";
import { addressTest } from "./cidr.ts";

/** What a key may do, whoever it speaks for. */
interface KeyGrant {
  readonly keyId: string;
  /** Whose token buckets it draws from: the same for a key and the one that replaced it. */
  readonly rateBucket: string;
  readonly scopes: readonly Scope[];
  readonly rateLimits: KeyRateLimits | null;
}

/** A partner's key. */
export interface KeyPrincipal extends Principal, KeyGrant {}
export interface OperatorKey extends Operator, KeyGrant {}
export type KeyHolder = KeyPrincipal | OperatorKey;

export interface KnownKey {
  readonly holder: KeyHolder;
  readonly hash: Buffer;
  readonly expiresAtMs: number;
  readonly suspended: boolean;
  readonly admits: (address: string) => boolean;
}

export interface KeyMemory extends Disposable {
  /** The unrevoked key with these eight characters. Null: there is none. Undefined: memory cannot tell, and `find` can. */
  remembered(lookup: string): KnownKey | null | undefined;
  /** The same from PostgreSQL. */
  find(lookup: string): Promise<KnownKey | null>;
}

interface KeyRow {
  id: string;
  secret_hash: Buffer;
  organization_id: string | null;
  organization_type: OrganizationType | null;
  scopes: Scope[];
  cidrs: string[] | null;
  rate_limits: KeyRateLimits | null;
  rate_bucket: string | null;
  expires_at: string | null;
  suspended: boolean;
}

const POLL_MS = 400;
const TRUST_MS = 900;
const MAX_KNOWN = 50_000;
/** Look-ups that found no key are remembered for so long, and the latest of them. */
const MISS_TRUST_MS = 10_000;
const MAX_MISSES = 10_000;
/** Changed keys that one poll drops by name; where there are more, it drops all. */
const MAX_CHANGED = 1_000;

export function createKeyMemory(database: Queryable): KeyMemory {
  const known = new Map<string, KnownKey>();
  /** When each miss is no longer trusted; the oldest first. */
  const misses = new Map<string, number>();
  let revision: number | null = null;
  // On the monotonic clock: a wall clock that is set back must not prolong trust.
  let freshUntilMs = 0;

  const poll = async (): Promise<void> => {
    const askedMs = performance.now();
    const [row] = await database.query<{ revision: number }>(sql`select revision from access_revision`);
    const read = row?.revision ?? null;
    if (read !== revision) {
      const changed = await changedSince(database, { revision, read });
      if (changed === null) known.clear();
      else for (const lookup of changed) known.delete(lookup);
      revision = read;
    }
    freshUntilMs = askedMs + TRUST_MS;
  };
  // A reading that fails is not worth a word here: memory goes stale, and the next request meets the database itself.
  const timer = setInterval(() => void poll().catch(() => undefined), POLL_MS);
  timer.unref();

  const rememberMiss = (lookup: string): void => {
    misses.delete(lookup);
    misses.set(lookup, performance.now() + MISS_TRUST_MS);
    const [oldest] = misses.keys();
    if (oldest !== undefined && misses.size > MAX_MISSES) misses.delete(oldest);
  };

  return {
    remembered(lookup) {
      const nowMs = performance.now();
      if (nowMs >= freshUntilMs) return undefined;
      return known.get(lookup) ?? ((misses.get(lookup) ?? 0) > nowMs ? null : undefined);
    },
    async find(lookup) {
      const before = revision;
      const key = await load(database, lookup);
      if (!key) rememberMiss(lookup);
      // A change that came to be known meanwhile may be one that this row does not show yet.
      if (key && before === revision && known.size < MAX_KNOWN) known.set(lookup, key);
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
    select lookup from api_key where access_revision > ${revision}::int limit ${MAX_CHANGED + 1}::int`);
  return rows.length <= MAX_CHANGED ? rows.map(({ lookup }) => lookup) : null;
}

async function load(database: Queryable, lookup: string): Promise<KnownKey | null> {
  const [row] = await database.query<KeyRow>(sql`
    select api_key.id, secret_hash, organization_id, organization.type as organization_type, scopes, cidrs, rate_limits,
      rate_bucket, expires_at, suspended_at is not null as suspended
    from api_key left join organization on organization.id = organization_id
    where lookup = ${lookup} and revoked_at is null`);
  return row ? toKnownKey(row) : null;
}

function toKnownKey(row: KeyRow): KnownKey {
  return {
    holder: holderOf(row),
    hash: row.secret_hash,
    expiresAtMs: row.expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(row.expires_at),
    suspended: row.suspended,
    admits: row.cidrs === null ? () => true : addressTest(row.cidrs),
  };
}

function holderOf(row: KeyRow): KeyHolder {
  const { id, organization_id, organization_type, scopes, rate_limits: rateLimits } = row;
  const rateBucket = row.rate_bucket ?? id;
  const grant = { keyId: id, rateBucket, scopes, rateLimits, actor: { type: "key", id } } as const;
  return organization_id !== null && organization_type !== null
    ? { ...grant, organizationId: organization_id, organizationType: organization_type }
    : { ...grant, organizationId: null, organizationType: null };
}
