/** Lets keys and users create, rotate and revoke keys that have no more rights than themselves. */
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
 * Ids are uuids. A key of another organisation throws NotFoundException, as if it didn't exist. The caller must check that
 * the principal may manage keys.
 */
export interface KeyDelegation {
  /**
   * Lists active keys, and keys that expired or were revoked in the last 30 days, oldest first: those of the principal's
   * organisation, or all for an operator.
   */
  listFor(principal: GrantorPrincipal, on?: Queryable): Promise<KeyView[]>;
  getFor(principal: GrantorPrincipal, id: string): Promise<ApiKey>;
  /**
   * Throws BadRequestException with every problem, ForbiddenException if the key would have more rights than the principal,
   * and ConflictException above 100 active keys. Throws ReauthenticationRequiredError for a user without a fresh
   * authentication, as does `rotateFor`.
   */
  createFor(principal: GrantorPrincipal, request: KeyRequest): Promise<IssuedKey>;
  /** Returns a new key with the old one's rights. The old one stays valid for `graceHours` (0 to 24). */
  rotateFor(principal: GrantorPrincipal, id: string, graceHours: number): Promise<IssuedKey>;
  /** Every process rejects the key within a second. Idempotent. `includeCreatedKeys`: revoke the keys created with it, too. */
  revokeFor(
    principal: GrantorPrincipal,
    id: string,
    options?: { includeCreatedKeys: boolean },
  ): Promise<RevokedKeys>;
}

/** Unrevoked and unexpired, of one organisation (or of the operators). */
const MAX_ACTIVE_KEYS = 100;
/** How long revoked and expired keys are still listed. */
const ENDED_KEYS_LISTED_MS = 30 * 86_400_000;

interface KeyDelegationDeps {
  database: Database;
  clock: Clock;
  /** Absent: changes get no audit entry and no mail. */
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
    getFor: (principal, id) => getKey(database.em(), { id, ...tenantFilter(principal) }),
    createFor: (principal, request) => create(deps, principal, request),
    rotateFor: (principal, id, graceHours) => rotate(deps, principal, { id, graceHours }),
    revokeFor: (principal, id, { includeCreatedKeys } = { includeCreatedKeys: false }) =>
      withAccessRevision(database, async (em, markChanged) => {
        const grantor = await loadGrantor(em, deps.clock, principal);
        const key = await getKey(em, { id, ...tenantFilter(principal) });
        const created = includeCreatedKeys ? await keysCreatedByKey(em, deps.clock, key) : [];
        const keys = [key, ...created];
        if (principal.organizationId !== null) for (const { scopes } of keys) assertScopes(grantor, scopes);
        await revokeKeys(deps, em, { keys, by: principal, markChanged });
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
    await assertKeyQuota(em, clock, { organizationId, freed: 0 });
    const issued = issueKey(em, clock, {
      organizationId,
      name: request.name,
      ...grant,
      // An operator's own limits don't apply to an organisation's key.
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
    // The principal receives the new key's secret, so they must have all of its rights.
    assertWithinGrant(grantor, old);
    const organizationId = old.organization?.id ?? null;
    await assertKeyQuota(em, clock, { organizationId, freed: graceHours === 0 ? 1 : 0 });
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

/** Returns the new key's organisation (null: operators) and loads it into `em`. Throws NotFoundException. */
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

/** Throws ConflictException if there are too many active keys. `freed`: keys that end in the same transaction. */
async function assertKeyQuota(
  em: EntityManager,
  clock: Clock,
  { organizationId, freed }: { organizationId: string | null; freed: number },
): Promise<void> {
  const count = await em.count(ApiKey, {
    organization: organizationId,
    revokedAt: null,
    $or: [{ expiresAt: null }, { expiresAt: { $gt: new Date(clock.now()) } }],
  });
  if (count - freed < MAX_ACTIVE_KEYS) return;
  throw new AppError(
    "ConflictException",
    `There are already ${MAX_ACTIVE_KEYS} active keys; revoke one first`,
    {
      details: { limit: MAX_ACTIVE_KEYS },
    },
  );
}
