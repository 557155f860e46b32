/** What keys and people may do to keys: make, rotate and end those that can do no more than themselves. */
import type { EntityManager } from "@mikro-orm/postgresql";
import { Organization } from "../organizations/api.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database, Queryable } from "../platform/postgres/database.ts";
import { AppError, badRequest } from "../platform/errors.ts";
import { requireFreshAuthentication } from "../platform/fresh-authentication.ts";
import type { RecordAccessChange } from "../mail/api.ts";
import { recordKeyEvent, revokeKeys } from "./api-key.audit.ts";
import { loadGrantor, assertWithinGrant, assertScopes, type GrantorPrincipal } from "./api-key.grantor.ts";
import { checkGraceHours, checkKeyRequest, type KeyRequest } from "./api-key.validation.ts";
import { ApiKey } from "./api-key.entity.ts";
import {
  withAccessRevision,
  getKey,
  keysCreatedByKey,
  issueKey,
  lockAccessRevision,
  replaceKey,
  type IssuedKey,
  type RevokedKeys,
} from "./api-key.issue.ts";
import { listKeys, type KeyView } from "./api-key.queries.ts";

/**
 * Ids are uuids. A key of another organisation is answered as one that is not there: NotFoundException. Whether whoever
 * asks has the scope to manage keys is the caller's to know.
 */
export interface KeyDelegation {
  /**
   * Of the organisation of whoever asks, or for an operator all, the oldest first: those that are good, and those that have
   * ended within 30 days.
   */
  listFor(asking: GrantorPrincipal, on?: Queryable): Promise<KeyView[]>;
  getFor(asking: GrantorPrincipal, id: string): Promise<ApiKey>;
  /**
   * Throws BadRequestException with every wrong value, ForbiddenException for more than whoever asks may do,
   * and ConflictException where there are too many.
   * Throws ReauthenticationRequiredError for a user without a fresh authentication, as does `rotateFor`.
   */
  createFor(asking: GrantorPrincipal, request: KeyRequest): Promise<IssuedKey>;
  /** A new key with the old one's bounds; the old one stays good for `graceHours` (0 to 24) more. */
  rotateFor(asking: GrantorPrincipal, id: string, graceHours: number): Promise<IssuedKey>;
  /** Every process refuses it within a second. Revoking again is no error. `includeCreatedKeys`: the keys as well that it created. */
  revokeFor(
    asking: GrantorPrincipal,
    id: string,
    options?: { includeCreatedKeys: boolean },
  ): Promise<RevokedKeys>;
}

/** Unrevoked and unexpired, of one organisation (or of the operators). */
const MAX_ACTIVE_KEYS = 100;
/** How long a key that was revoked or has expired is still listed. */
const ENDED_KEYS_LISTED_MS = 30 * 86_400_000;

interface KeyDelegationDeps {
  database: Database;
  clock: Clock;
  /** Absent: no act is recorded. */
  recordAccessChange?: RecordAccessChange | undefined;
}

export function createKeyDelegation(deps: KeyDelegationDeps): KeyDelegation {
  const { database } = deps;
  return {
    listFor(principal, on = database) {
      const now = deps.clock.now();
      return listKeys(on, principal, {
        now: new Date(now),
        endedSince: new Date(now - ENDED_KEYS_LISTED_MS),
      });
    },
    getFor: (asking, id) => getKey(database.em(), { id, ...tenantFilter(asking) }),
    createFor: (asking, request) => create(deps, asking, request),
    rotateFor: (asking, id, graceHours) => rotate(deps, asking, { id, graceHours }),
    revokeFor: (asking, id, { includeCreatedKeys } = { includeCreatedKeys: false }) =>
      withAccessRevision(database, async (em, markChanged) => {
        const grantor = await loadGrantor(em, deps.clock, asking);
        const key = await getKey(em, { id, ...tenantFilter(asking) });
        const created = includeCreatedKeys ? await keysCreatedByKey(em, deps.clock, key) : [];
        const keys = [key, ...created];
        if (asking.organizationId !== null) for (const { scopes } of keys) assertScopes(grantor, scopes);
        await revokeKeys(deps, em, { keys, by: asking, noteChange: markChanged });
        return { key, created };
      }),
  };
}

function tenantFilter({ organizationId }: GrantorPrincipal): { organization?: string } {
  return organizationId === null ? {} : { organization: organizationId };
}

async function create(
  { database, clock, recordAccessChange }: KeyDelegationDeps,
  principal: GrantorPrincipal,
  request: KeyRequest,
): Promise<IssuedKey> {
  requireFreshAuthentication(principal, clock.now());
  return await database.em().transactional(async (em) => {
    await lockAccessRevision(em);
    const grantor = await loadGrantor(em, clock, principal);
    const organizationId = await resolveOrganization(em, principal, request);
    const problems = checkKeyRequest(request, clock);
    if (problems.length > 0) throw badRequest(problems);
    const grant = {
      scopes: [...new Set(request.scopes ?? grantor.scopes)],
      expiresAt: request.expiresAt ?? grantor.expiresAt ?? null,
      cidrs: request.cidrs ?? grantor.cidrs ?? null,
    };
    assertWithinGrant(grantor, grant);
    await assertKeyQuota(em, clock, { organizationId, leaving: 0 });
    const issued = issueKey(em, clock, {
      organizationId,
      name: request.name,
      ...grant,
      // Another organisation's key has the limits that the service gives it.
      rateLimits: organizationId === principal.organizationId ? grantor.rateLimits : null,
      createdBy: grantor.typedId,
    });
    await recordKeyEvent(recordAccessChange, em, { action: "key.created", key: issued.key, by: principal });
    return issued;
  });
}

async function rotate(
  { database, clock, recordAccessChange }: KeyDelegationDeps,
  principal: GrantorPrincipal,
  { id, graceHours }: { id: string; graceHours: number },
): Promise<IssuedKey> {
  requireFreshAuthentication(principal, clock.now());
  const problems = checkGraceHours(graceHours);
  if (problems.length > 0) throw badRequest(problems);
  return await withAccessRevision(database, async (em, markChanged) => {
    const grantor = await loadGrantor(em, clock, principal);
    const old = await getKey(em, { id, ...tenantFilter(principal) });
    // The new key's secret goes to whoever asks, so all that it could do counts.
    assertWithinGrant(grantor, old);
    const organizationId = old.organization?.id ?? null;
    await assertKeyQuota(em, clock, { organizationId, leaving: graceHours === 0 ? 1 : 0 });
    const issued = replaceKey(em, clock, { old, graceHours, createdBy: grantor.typedId });
    markChanged(old);
    await recordKeyEvent(recordAccessChange, em, {
      action: "key.rotated",
      key: issued.key,
      by: principal,
      details: { replaces: `wmk_${old.lookup}`, grace_hours: graceHours },
    });
    return issued;
  });
}

/** Whose the new key is. Loads the organisation. */
async function resolveOrganization(
  em: EntityManager,
  principal: GrantorPrincipal,
  { organizationId }: KeyRequest,
): Promise<string | null> {
  const id = organizationId ?? principal.organizationId;
  if (id === null) return null;
  const isVisible = principal.organizationId === null || principal.organizationId === id;
  if (isVisible && (await em.findOne(Organization, { id }))) return id;
  throw new AppError("NotFoundException", "There is no such organisation");
}

/** Throws ConflictException where there are too many keys already; `leaving` of them are about to end. */
async function assertKeyQuota(
  em: EntityManager,
  clock: Clock,
  { organizationId, leaving: freed }: { organizationId: string | null; leaving: number },
): Promise<void> {
  const count = await em.count(ApiKey, {
    organization: organizationId,
    revokedAt: null,
    $or: [{ expiresAt: null }, { expiresAt: { $gt: new Date(clock.now()) } }],
  });
  if (count - freed < MAX_ACTIVE_KEYS) return;
  throw new AppError("ConflictException", `There are ${MAX_ACTIVE_KEYS} keys already; revoke one first`, {
    details: { limit: MAX_ACTIVE_KEYS },
  });
}
