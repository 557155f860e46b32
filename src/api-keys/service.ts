/** Lists, creates, rotates and revokes API keys, with the rights of a principal or without restrictions. */
import { raw, type EntityManager, type FilterQuery } from "@mikro-orm/postgresql";
import {
  Organization,
  type OrganizationMode,
  partnerIdOf,
  testOrganizationOf,
  modeOf,
} from "../organizations/api.ts";
import type { AuditContext } from "../audit/api.ts";
import type { Reader } from "../core/postgres/database.ts";
import type { Transaction } from "../core/postgres/transaction.ts";
import { AppError, badRequest } from "../core/errors.ts";
import { requireFreshAuthentication } from "../core/fresh-authentication.ts";
import { fromTypedId, toTypedId } from "../core/ids.ts";
import { isTestPrincipal, type OrganizationType, partnerOf, type Principal } from "../core/principal.ts";
import { DAY_MS } from "../core/time.ts";
import type { RateLimitOverrides } from "../rate-limits/api.ts";
import { changeKeys, getKey, type IssuedKey, type KeyChanges, type KeyDeps, type NewKey } from "./changes.ts";
import { ApiKey, keysOf } from "./entity.ts";
import {
  assertScopes,
  assertWithinGrant,
  grantedScopes,
  loadGrantor,
  type GrantorPrincipal,
} from "./grant.ts";
import type { KeyRequest } from "./input.ts";

export interface RevokedKeys {
  readonly key: ApiKey;
  /** The active keys that it created, directly or through keys it created. */
  readonly created: readonly ApiKey[];
}

interface RevokeOptions {
  readonly includeCreatedKeys: boolean;
}

export const MAX_LISTED_KEYS = 1_000;
/** Unrevoked and unexpired, of one organisation (or of the operators). */
export const MAX_ACTIVE_KEYS = 100;
/** How long revoked and expired keys are still listed. */
const ENDED_KEYS_LISTED_MS = 30 * DAY_MS;

/**
 * Ids are uuids. The methods that end with `For` have the rights of a principal: a key of another organisation throws
 * NotFoundException, as if it didn't exist; the caller must check that the principal may manage keys. The others are for the
 * CLI and have no restrictions; without `by`, the actor for the audit log, nothing is recorded.
 */
export class ApiKeyService {
  readonly #deps: KeyDeps;

  constructor(deps: KeyDeps) {
    this.#deps = deps;
  }

  /**
   * Lists active keys, and keys that expired or were revoked in the last 30 days, oldest first: those of the principal's
   * organisation, or all for an operator; at most MAX_LISTED_KEYS. If there are more, it leaves out ended keys first, then
   * the oldest. `mode` leaves out the keys of the other one.
   */
  async listFor(
    principal: Principal,
    on: Reader = this.#deps.database,
    mode?: OrganizationMode,
  ): Promise<ApiKey[]> {
    const nowMs = this.#deps.clock.now();
    const isListed = { [raw(endOf)]: { $gt: new Date(nowMs - ENDED_KEYS_LISTED_MS) } };
    const isActive = raw((key) => `${endOf(key)} > ?`, [new Date(nowMs)]);
    const keys = await on.em().find(
      ApiKey,
      { $and: [visibleKeys(principal, mode), isListed] },
      {
        orderBy: [{ [isActive]: "desc" }, { createdAt: "desc", id: "desc" }],
        limit: MAX_LISTED_KEYS,
        populate: ["organization"],
      },
    );
    return keys.toSorted((one, other) => +one.createdAt - +other.createdAt || (one.id < other.id ? -1 : 1));
  }

  getFor(principal: Principal, id: string): Promise<ApiKey> {
    return getKey(this.#deps.database.em(), { $and: [{ id }, visibleKeys(principal)] });
  }

  /**
   * Throws ForbiddenException if the key would have more rights than the principal, ConflictException above 100 active keys, and
   * ReauthenticationRequiredError for a user without a fresh authentication, except for a test key of the user's organisation.
   */
  async createFor(principal: GrantorPrincipal, request: KeyRequest, tx?: Transaction): Promise<IssuedKey> {
    const { clock } = this.#deps;
    if (principal.organizationId === null || request.mode !== "test")
      requireFreshAuthentication(principal, clock.now());
    return await changeKeys({ ...this.#deps, tx }, async (keys) => {
      const grantor = await loadGrantor(keys.em, clock, principal);
      const organizationId = await resolveOrganization(keys.em, principal, request);
      const grant = {
        scopes: grantedScopes(grantor, request.scopes),
        expiresAt: request.expiresAt ?? grantor.expiresAt ?? null,
        cidrs: request.cidrs ?? grantor.cidrs ?? null,
      };
      assertWithinGrant(grantor, grant);
      await assertKeyQuota(keys, clock.now(), { organizationId, freed: 0 });
      // An operator's own limits don't apply to an organisation's key. Those of a live key apply to its test keys.
      const isOperator = principal.organizationId === null;
      const rateLimits = isOperator && organizationId !== null ? null : grantor.rateLimits;
      const { name } = request;
      return await keys.issue(
        { organizationId, name, ...grant, rateLimits, createdBy: grantor.typedId },
        principal,
      );
    });
  }

  /** Returns a new key with the old one's rights. The old one stays valid for `graceHours` (0 to 24). */
  async rotateFor(
    principal: GrantorPrincipal,
    id: string,
    graceHours: number,
    tx?: Transaction,
  ): Promise<IssuedKey> {
    const { clock } = this.#deps;
    return await changeKeys({ ...this.#deps, tx }, async (keys) => {
      const grantor = await loadGrantor(keys.em, clock, principal);
      const old = await getKey(keys.em, { $and: [{ id }, visibleKeys(principal)] });
      // The principal receives the new key's secret, so they must have all of its rights.
      assertWithinGrant(grantor, old);
      const organizationId = old.organization?.id ?? null;
      await assertKeyQuota(keys, clock.now(), { organizationId, freed: graceHours === 0 ? 1 : 0 });
      return await keys.replace(old, { graceHours, createdBy: grantor.typedId }, principal);
    });
  }

  /** Every process rejects the key within a second. Idempotent. `includeCreatedKeys`: revoke the keys created with it, too. */
  revokeFor(principal: GrantorPrincipal, id: string, options?: RevokeOptions): Promise<RevokedKeys> {
    return changeKeys(this.#deps, async (keys) => {
      const grantor = await loadGrantor(keys.em, this.#deps.clock, principal);
      const revoked = await findKeysToRevoke(keys, { $and: [{ id }, visibleKeys(principal)] }, options);
      const { key, created } = revoked;
      if (principal.organizationId !== null)
        for (const { scopes } of [key, ...created]) assertScopes(grantor, scopes);
      await keys.revoke([key, ...created], principal);
      return revoked;
    });
  }

  /** `testSide`: creates a test key of the organisation, for this side of test jobs. */
  create(
    { testSide, ...request }: NewKey & { testSide?: OrganizationType | undefined },
    by?: AuditContext,
  ): Promise<IssuedKey> {
    return changeKeys(this.#deps, async (keys) => {
      if (testSide === undefined || request.organizationId === null) return await keys.issue(request, by);
      const organization = await keys.em.findOneOrFail(Organization, { id: request.organizationId });
      const { id } = await testOrganizationOf(keys.em, organization, testSide);
      return await keys.issue({ ...request, organizationId: id }, by);
    });
  }

  /** Without `organizationId` (the uuid of a live organisation) the live keys include those of operators. */
  list(organizationId?: string, mode?: OrganizationMode): Promise<ApiKey[]> {
    const where = keysOf({ organizationId, mode });
    const options = { orderBy: { createdAt: "asc", id: "asc" }, populate: ["organization"] } as const;
    return this.#deps.database.em().find(ApiKey, where, options);
  }

  /** Finds a key by typed id or prefix, and loads its organisation. */
  find(idOrPrefix: string): Promise<ApiKey | null> {
    const id = fromTypedId("key", idOrPrefix);
    const where = id ? { id } : { prefix: idOrPrefix };
    return this.#deps.database.em().findOne(ApiKey, where, { populate: ["organization"] });
  }

  revoke(id: string, by?: AuditContext, options?: RevokeOptions): Promise<RevokedKeys> {
    return changeKeys(this.#deps, async (keys) => {
      const revoked = await findKeysToRevoke(keys, { id }, options);
      await keys.revoke([revoked.key, ...revoked.created], by);
      return revoked;
    });
  }

  rotate(id: string, graceHours: number, createdBy: string, by?: AuditContext): Promise<IssuedKey> {
    return changeKeys(this.#deps, async (keys) =>
      keys.replace(await getKey(keys.em, { id }), { graceHours, createdBy }, by),
    );
  }

  /** Per class of request: undefined restores the service's limit, null removes the limit, an absent class is unchanged. */
  setRateLimits(id: string, changes: RateLimitOverrides): Promise<ApiKey> {
    return changeKeys(this.#deps, async (keys) => {
      const key = await getKey(keys.em, { id });
      const rateLimits = { ...key.rateLimits, ...changes };
      key.rateLimits = Object.values(rateLimits).some((limit) => limit !== undefined) ? rateLimits : null;
      key.accessRevision = keys.accessRevision;
      return key;
    });
  }
}

/** Returns the uuid of a key's typed id. Throws NotFoundException for other text. */
export function keyUuid(id: string): string {
  const uuid = fromTypedId("key", id);
  if (uuid === null) throw new AppError("NotFoundException", "No such key");
  return uuid;
}

/** Returns the keys of `ids` (uuids) that the principal may see, in no particular order. Includes ended keys. */
export function keysByIds(reader: Reader, principal: Principal, ids: readonly string[]): Promise<ApiKey[]> {
  const where = { $and: [{ id: { $in: [...ids] } }, visibleKeys(principal)] };
  return reader.em().find(ApiKey, where, { populate: ["organization"] });
}

/** A live principal sees live and test keys, a test principal the test keys of both sides. Operators see all, or those of `mode`. */
function visibleKeys(principal: Principal, mode?: OrganizationMode): FilterQuery<ApiKey> {
  const organizationId = partnerOf(principal) ?? undefined;
  return keysOf({ organizationId, mode: isTestPrincipal(principal) ? "test" : mode });
}

/** Returns SQL for the time at which a key ended or will end. */
const endOf = (key: string): string => `least(${key}.revoked_at, ${key}.expires_at, 'infinity')`;

async function findKeysToRevoke(
  keys: KeyChanges,
  where: FilterQuery<ApiKey>,
  { includeCreatedKeys }: RevokeOptions = { includeCreatedKeys: false },
): Promise<RevokedKeys> {
  const key = await getKey(keys.em, where);
  const created = includeCreatedKeys
    ? await keys.createdBy(toTypedId("key", key.id), key.organization ? partnerIdOf(key.organization) : null)
    : [];
  return { key, created };
}

/** Throws ConflictException if there are too many active keys. `freed`: keys that end in the same transaction. */
async function assertKeyQuota(
  { em }: KeyChanges,
  nowMs: number,
  { organizationId, freed }: { organizationId: string | null; freed: number },
): Promise<void> {
  const isActive = { [raw(endOf)]: { $gt: new Date(nowMs) } };
  const count = await em.count(ApiKey, { organization: organizationId, ...isActive });
  if (count - freed < MAX_ACTIVE_KEYS) return;
  throw new AppError(
    "ConflictException",
    `There are already ${MAX_ACTIVE_KEYS} active keys; revoke one first`,
    { details: { limit: MAX_ACTIVE_KEYS } },
  );
}

/**
 * Returns the new key's organisation (null: operators) and loads it into `em`. Throws NotFoundException for another
 * organisation, BadRequestException for members that don't fit together, and ForbiddenException for a live key asked for by
 * a test key.
 */
async function resolveOrganization(
  em: EntityManager,
  principal: GrantorPrincipal,
  { organizationId, mode, organizationType }: KeyRequest,
): Promise<string | null> {
  const id = organizationId ?? principal.organizationId;
  if (id === null && mode === "test")
    throw invalidMember("mode", "must be live for an operator's key; name the organisation of a test key");
  if (id === null) return null;
  const isVisible = principal.organizationId === null || principal.organizationId === id;
  const organization = isVisible ? await em.findOne(Organization, { id }) : null;
  if (!organization) throw new AppError("NotFoundException", "There is no such organisation");
  const isTest = (mode ?? modeOf(organization)) === "test";
  if (!isTest && modeOf(organization) === "test")
    throw new AppError(
      "ForbiddenException",
      principal.keyId === null
        ? "In test mode you can create only test keys"
        : "A test key can create only test keys",
    );
  if (isTest) return (await testOrganizationOf(em, organization, organizationType ?? organization.type)).id;
  if (organizationType && organizationType !== organization.type)
    throw invalidMember("organization_type", "is only allowed with mode: test");
  return id;
}

function invalidMember(field: string, message: string): AppError {
  return badRequest([{ location: "body", field, code: "conflict", message }]);
}
