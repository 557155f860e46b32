/** API keys: issued, listed, rotated and revoked. What a presented key may do is `api-key.verifier.ts`'s. */
import { LockMode, type EntityManager } from "@mikro-orm/postgresql";
import type { Database } from "../platform/database.ts";
import type { Clock } from "../platform/clock.ts";
import { AppError } from "../platform/errors.ts";
import { fromTypedId, newUuid } from "../platform/ids.ts";
import { Organization } from "../organizations/organization.entity.ts";
import {
  AccessRevision,
  ApiKey,
  scopes as allScopes,
  type KeyRateLimits,
  type Scope,
} from "./api-key.entity.ts";
import { newKeyText } from "./api-key.format.ts";
import { parseCidr } from "./cidr.ts";

export interface NewKey {
  /** Null: an operator's. */
  organizationId: string | null;
  name: string;
  /** Default: all. */
  scopes?: readonly Scope[];
  expiresAt?: Date | null;
  /** CIDR ranges that it may be used from; absent or null: anywhere. */
  cidrs?: readonly string[] | null;
  /** Its own limits instead of the service's. */
  rateLimits?: KeyRateLimits | null;
  createdBy: string;
}

export interface IssuedKey {
  key: ApiKey;
  /** The key itself: it cannot be had again. */
  text: string;
}

export interface ApiKeyService {
  create(request: NewKey): Promise<IssuedKey>;
  list(organizationId?: string): Promise<ApiKey[]>;
  /** A key by typed id or by its eight characters. */
  find(idOrLookup: string): Promise<ApiKey | null>;
  /** Every process refuses it within a second. Revoking again is no error. */
  revoke(id: string): Promise<void>;
  /** A new key like the old one, which stays good for `graceHours` (0 to 24) more. */
  rotate(id: string, graceHours: number, createdBy: string): Promise<IssuedKey>;
  /** Suspends an organisation (its keys answer 403) or restores it; every process knows within a second. */
  setSuspended(organizationId: string, suspended: boolean): Promise<void>;
}

const MAX_GRACE_HOURS = 24;

export function createApiKeyService({
  database,
  clock,
}: {
  database: Database;
  clock: Clock;
}): ApiKeyService {
  const service = { database, clock };
  return {
    create: (request) => create(service, request),
    list: (organizationId) =>
      database.em().find(ApiKey, organizationId ? { organization: organizationId } : {}, {
        orderBy: { createdAt: "asc" },
        populate: ["organization"],
      }),
    find(idOrLookup) {
      const id = fromTypedId("key", idOrLookup);
      return database.em().findOne(ApiKey, id ? { id } : { lookup: idOrLookup });
    },
    revoke: (id) =>
      changeAccess(database, async (em) => {
        const key = await getKey(em, id);
        key.revokedAt ??= new Date(clock.now());
      }),
    rotate: (id, graceHours, createdBy) => rotate(service, { id, graceHours, createdBy }),
    setSuspended: (organizationId, suspended) =>
      changeAccess(database, async (em) => {
        const organization = await em.findOne(Organization, { id: organizationId });
        if (!organization) throw new AppError("NotFoundException", "No such organisation");
        organization.suspendedAt = suspended ? (organization.suspendedAt ?? new Date(clock.now())) : null;
      }),
  };
}

interface Service {
  database: Database;
  clock: Clock;
}

async function create({ database, clock }: Service, request: NewKey): Promise<IssuedKey> {
  const cidrs = request.cidrs?.map((cidr) => parseCidr(cidr).text) ?? null;
  if (request.expiresAt && request.expiresAt.getTime() <= clock.now()) {
    throw new AppError("BadRequestException", "The expiry is in the past");
  }
  for (const limit of Object.values<KeyRateLimits["read"]>({ ...request.rateLimits })) {
    if (limit && !(limit.perSecond > 0 && limit.burst >= 1)) {
      throw new AppError(
        "BadRequestException",
        "A rate limit is more than 0 a second and at least 1 at once",
      );
    }
  }
  const { text, lookup, hash } = newKeyText();
  const em = database.em();
  const key = em.create(ApiKey, {
    id: newUuid(),
    lookup,
    secretHash: hash,
    organization:
      request.organizationId === null ? null : em.getReference(Organization, request.organizationId),
    name: request.name,
    scopes: [...(request.scopes ?? allScopes)],
    cidrs,
    rateLimits: request.rateLimits ?? null,
    createdBy: request.createdBy,
    createdAt: new Date(clock.now()),
    expiresAt: request.expiresAt ?? null,
  });
  await em.persist(key).flush();
  return { key, text };
}

async function rotate(
  service: Service,
  { id, graceHours, createdBy }: { id: string; graceHours: number; createdBy: string },
): Promise<IssuedKey> {
  if (!(graceHours >= 0 && graceHours <= MAX_GRACE_HOURS)) {
    throw new AppError("BadRequestException", `The old key may stay good for 0 to ${MAX_GRACE_HOURS} hours`);
  }
  const { database, clock } = service;
  const old = await getKey(database.em(), id);
  if (old.revokedAt)
    throw new AppError("ConflictException", "A revoked key cannot be rotated; create a new one");
  const issued = await create(service, {
    organizationId: old.organization?.id ?? null,
    name: old.name,
    scopes: old.scopes,
    cidrs: old.cidrs ?? null,
    rateLimits: old.rateLimits ?? null,
    expiresAt: old.expiresAt ?? null,
    createdBy,
  });
  const end = new Date(clock.now() + graceHours * 3_600_000);
  await changeAccess(database, async (em) => {
    const key = await getKey(em, id);
    if (!key.expiresAt || key.expiresAt > end) key.expiresAt = end;
  });
  return issued;
}

async function getKey(em: EntityManager, id: string): Promise<ApiKey> {
  const key = await em.findOne(ApiKey, { id });
  if (!key) throw new AppError("NotFoundException", "No such key");
  return key;
}

/** Runs `change` and tells every process to forget what it knows of keys, in one transaction. */
function changeAccess(database: Database, change: (em: EntityManager) => Promise<void>): Promise<void> {
  return database.em().transactional(async (em) => {
    await change(em);
    const revision = await em.findOneOrFail(
      AccessRevision,
      { id: true },
      { lockMode: LockMode.PESSIMISTIC_WRITE },
    );
    revision.revision += 1;
  });
}
