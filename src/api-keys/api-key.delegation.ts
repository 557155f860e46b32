/** What keys and people may do to keys: make, rotate and end those that can do no more than themselves. */
import type { EntityManager } from "@mikro-orm/postgresql";
import { Organization } from "../organizations/organization.entity.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database, Queryable } from "../platform/database.ts";
import { AppError, badRequest } from "../platform/errors.ts";
import { requireFreshAuthentication } from "../platform/fresh-authentication.ts";
import type { KeepAccessAct } from "../accounts/access-notices.service.ts";
import { keepKeyAct, revokeKeys } from "./api-key.acts.ts";
import { askerOf, requireNoMore, requireScopes, type Asking } from "./api-key.asker.ts";
import { checkGraceHours, checkKeyRequest, type KeyRequest } from "./api-key.checks.ts";
import { ApiKey } from "./api-key.entity.ts";
import {
  changeAccess,
  getKey,
  keysCreatedByKey,
  issueKey,
  lockAccess,
  replaceKey,
  type IssuedKey,
  type RevokedKeys,
} from "./api-key.issue.ts";
import { listKeys, type KeyView } from "./api-key.lookup.ts";

/**
 * Ids are uuids. A key of another organisation is answered as one that is not there: NotFoundException. Whether whoever
 * asks has the scope to manage keys is the caller's to know.
 */
export interface KeyDelegation {
  /**
   * Of the organisation of whoever asks, or for an operator all, the oldest first: those that are good, and those that have
   * ended within 30 days.
   */
  listFor(asking: Asking, on?: Queryable): Promise<KeyView[]>;
  getFor(asking: Asking, id: string): Promise<ApiKey>;
  /**
   * Throws BadRequestException with every wrong value, ForbiddenException for more than whoever asks may do,
   * and ConflictException where there are too many.
   * Throws ReauthenticationRequiredError for a user without a fresh authentication, as does `rotateFor`.
   */
  createFor(asking: Asking, request: KeyRequest): Promise<IssuedKey>;
  /** A new key with the old one's bounds; the old one stays good for `graceHours` (0 to 24) more. */
  rotateFor(asking: Asking, id: string, graceHours: number): Promise<IssuedKey>;
  /** Every process refuses it within a second. Revoking again is no error. `withCreated`: the keys as well that it created. */
  revokeFor(asking: Asking, id: string, options?: { withCreated: boolean }): Promise<RevokedKeys>;
}

/** Unrevoked and unexpired, of one organisation (or of the operators). */
const MAX_KEYS = 100;
/** How long a key that was revoked or has expired is still listed. */
const ENDED_KEYS_SHOWN_MS = 30 * 86_400_000;

interface Parts {
  database: Database;
  clock: Clock;
  /** Absent: no act is recorded. */
  keepAct?: KeepAccessAct | undefined;
}

export function createKeyDelegation(parts: Parts): KeyDelegation {
  const { database } = parts;
  return {
    listFor(asking, on = database) {
      const now = parts.clock.now();
      return listKeys(on, asking, { now: new Date(now), endedSince: new Date(now - ENDED_KEYS_SHOWN_MS) });
    },
    getFor: (asking, id) => getKey(database.em(), { id, ...visibleTo(asking) }),
    createFor: (asking, request) => create(parts, asking, request),
    rotateFor: (asking, id, graceHours) => rotate(parts, asking, { id, graceHours }),
    revokeFor: (asking, id, { withCreated } = { withCreated: false }) =>
      changeAccess(database, async (em, noteChange) => {
        const asker = await askerOf(em, parts.clock, asking);
        const key = await getKey(em, { id, ...visibleTo(asking) });
        const created = withCreated ? await keysCreatedByKey(em, parts.clock, key) : [];
        const keys = [key, ...created];
        if (asking.organizationId !== null) for (const { scopes } of keys) requireScopes(asker, scopes);
        await revokeKeys(parts, em, { keys, by: asking, noteChange });
        return { key, created };
      }),
  };
}

function visibleTo({ organizationId }: Asking): { organization?: string } {
  return organizationId === null ? {} : { organization: organizationId };
}

async function create(
  { database, clock, keepAct }: Parts,
  asking: Asking,
  request: KeyRequest,
): Promise<IssuedKey> {
  requireFreshAuthentication(asking, clock.now());
  return await database.em().transactional(async (em) => {
    await lockAccess(em);
    const asker = await askerOf(em, clock, asking);
    const organizationId = await ownerOf(em, asking, request);
    const problems = checkKeyRequest(request, clock);
    if (problems.length > 0) throw badRequest(problems);
    const bounds = {
      scopes: [...new Set(request.scopes ?? asker.scopes)],
      expiresAt: request.expiresAt ?? asker.expiresAt ?? null,
      cidrs: request.cidrs ?? asker.cidrs ?? null,
    };
    requireNoMore(asker, bounds);
    await requireRoom(em, clock, { organizationId, leaving: 0 });
    const issued = issueKey(em, clock, {
      organizationId,
      name: request.name,
      ...bounds,
      // Another organisation's key has the limits that the service gives it.
      rateLimits: organizationId === asking.organizationId ? asker.rateLimits : null,
      createdBy: asker.name,
    });
    await keepKeyAct(keepAct, em, { action: "key.created", key: issued.key, by: asking });
    return issued;
  });
}

async function rotate(
  { database, clock, keepAct }: Parts,
  asking: Asking,
  { id, graceHours }: { id: string; graceHours: number },
): Promise<IssuedKey> {
  requireFreshAuthentication(asking, clock.now());
  const problems = checkGraceHours(graceHours);
  if (problems.length > 0) throw badRequest(problems);
  return await changeAccess(database, async (em, noteChange) => {
    const asker = await askerOf(em, clock, asking);
    const old = await getKey(em, { id, ...visibleTo(asking) });
    // The new key's secret goes to whoever asks, so all that it could do counts.
    requireNoMore(asker, old);
    const organizationId = old.organization?.id ?? null;
    await requireRoom(em, clock, { organizationId, leaving: graceHours === 0 ? 1 : 0 });
    const issued = replaceKey(em, clock, { old, graceHours, createdBy: asker.name });
    noteChange(old);
    await keepKeyAct(keepAct, em, {
      action: "key.rotated",
      key: issued.key,
      by: asking,
      details: { replaces: `wmk_${old.lookup}`, grace_hours: graceHours },
    });
    return issued;
  });
}

/** Whose the new key is. Loads the organisation. */
async function ownerOf(
  em: EntityManager,
  asking: Asking,
  { organizationId }: KeyRequest,
): Promise<string | null> {
  const id = organizationId ?? asking.organizationId;
  if (id === null) return null;
  const isVisible = asking.organizationId === null || asking.organizationId === id;
  if (isVisible && (await em.findOne(Organization, { id }))) return id;
  throw new AppError("NotFoundException", "There is no such organisation");
}

/** Throws ConflictException where there are too many keys already; `leaving` of them are about to end. */
async function requireRoom(
  em: EntityManager,
  clock: Clock,
  { organizationId, leaving }: { organizationId: string | null; leaving: number },
): Promise<void> {
  const count = await em.count(ApiKey, {
    organization: organizationId,
    revokedAt: null,
    $or: [{ expiresAt: null }, { expiresAt: { $gt: new Date(clock.now()) } }],
  });
  if (count - leaving < MAX_KEYS) return;
  throw new AppError("ConflictException", `There are ${MAX_KEYS} keys already; revoke one first`, {
    details: { limit: MAX_KEYS },
  });
}
