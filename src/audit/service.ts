/** Records audit events in the transaction of the change itself, and lists them. */
import { EntityManager } from "@mikro-orm/postgresql";
import { Organization, User } from "../organizations/api.ts";
import { idCursor } from "../core/cursor.ts";
import { invalidArgument } from "../core/errors.ts";
import { newUuid, toTypedId } from "../core/ids.ts";
import type { Reader } from "../core/postgres/database.ts";
import { listNewest, type Page, type PageRequest } from "../core/postgres/list-page.ts";
import type { Actor } from "../core/principal.ts";
import { AuditEntry } from "./entity.ts";

/** The IP address and id of the request that caused an event. */
export interface AuditSource {
  readonly ipAddress: string | null;
  readonly requestId: string | null;
}

export interface AuditContext extends AuditSource {
  readonly actor: Actor;
}

/** For events that no request caused, such as those of CLI commands. */
export const NO_SOURCE: AuditSource = { ipAddress: null, requestId: null };

export interface AuditEvent extends Partial<AuditSource> {
  /** `noun.participle`, such as `member.removed` or `organization.suspended`. */
  readonly action: string;
  readonly actor: Actor;
  /** The organisation concerned (a uuid); null if there is none. Events of a test organisation are recorded for its live one. */
  readonly organizationId: string | null;
  /** The object changed: a typed id or an e-mail address. */
  readonly subject?: string | null | undefined;
  /** Further details. Never secrets. */
  readonly details?: Readonly<Record<string, unknown>> | null | undefined;
}

/** An entry as one reader may see it. */
export type AuditEntryView = ReturnType<typeof toAuditEntryView>;

export interface AuditListOptions extends PageRequest {
  /** Only these entries (uuids); absent: all. */
  readonly ids?: readonly string[] | undefined;
  /** Only these actions; absent: all. */
  readonly actions?: readonly string[] | undefined;
  /** Only events that concern this organisation (a uuid). */
  readonly organizationId?: string | undefined;
}

/** Returns the actor's current display name: a user's e-mail address, a key's id, or `system`. */
export async function actorDisplayName(on: Reader | EntityManager, actor: Actor): Promise<string> {
  return displayName(actor, await findUser(toEntityManager(on), actor));
}

/**
 * Records an event, and returns whether the organisation is a test organisation. `on`: the transaction of the change, or the pool
 * if there is none.
 */
export async function recordAuditEvent(
  on: Reader | EntityManager,
  event: AuditEvent,
): Promise<{ isTest: boolean }> {
  const em = toEntityManager(on);
  const { actor, requestId = null, organizationId } = event;
  const organization = organizationId === null ? null : await em.findOne(Organization, organizationId);
  const live = organization?.liveOrganization ?? null;
  const details = live === null ? event.details : { ...event.details, mode: "test" };
  const user = await findUser(em, actor);
  const byOperator = {
    user: user?.organization === null,
    key: actor.isOperatorKey === true,
    // Only someone who runs the service acts without a request. An unauthenticated sign-in is one.
    system: requestId === null,
  }[actor.type];
  await em.insert(AuditEntry, {
    id: newUuid(),
    action: event.action,
    actorType: actor.type,
    actorId: actor.id,
    // Stored, as the user may be deleted later.
    actor: displayName(actor, user),
    byOperator,
    // Owners read the audit log in live mode.
    organizationId: live ?? organizationId,
    subject: event.subject ?? null,
    details: details ? withoutUndefined(details) : null,
    // Empty if the client is gone.
    ipAddress: event.ipAddress === "" ? null : event.ipAddress,
    requestId,
  });
  return { isTest: live !== null };
}

/** MikroORM stores undefined as null. */
function withoutUndefined(details: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(details).filter(([, value]) => value !== undefined));
}

const ACTION_PATTERN = /^[a-z_]{1,40}\.[a-z_]{1,40}$/;

/**
 * Lists entries, newest first: to an organisation those that concern it, to operators all. An organisation sees an
 * operator's event and its time, but not the operator's name, IP address, request or details. Throws BadRequestException for a
 * malformed action, and if an organisation names one.
 */
export async function listAuditEntries(
  reader: Reader,
  { organizationId: readerOrganizationId }: { readonly organizationId: string | null },
  { ids, actions, organizationId, ...page }: AuditListOptions,
): Promise<Page<AuditEntryView>> {
  for (const [index, action] of (actions ?? []).entries())
    if (!ACTION_PATTERN.test(action))
      throw invalidArgument(`actions.${index}`, "must be an action such as `member.removed`");
  if (readerOrganizationId !== null && organizationId !== undefined)
    throw invalidArgument("organizationId", "can only be used by operators of the service");
  const where = {
    ...(ids && { id: { $in: ids } }),
    ...(actions && { action: { $in: actions } }),
    $and: [readerOrganizationId ?? undefined, organizationId]
      .filter((id) => id !== undefined)
      .map((id) => ({ organizationId: id })),
  };
  const { items, hasMore } = await listNewest(reader.em(), AuditEntry, { ...page, where });
  return { items: items.map((entry) => toAuditEntryView(entry, readerOrganizationId !== null)), hasMore };
}

export const auditCursor = idCursor("audit");

function toEntityManager(on: Reader | EntityManager): EntityManager {
  return on instanceof EntityManager ? on : on.em();
}

/** Returns null for actors that are not users, and for deleted users. */
async function findUser(em: EntityManager, { type, id }: Actor): Promise<User | null> {
  return type === "user" && id !== null ? await em.findOne(User, { id }, { filters: false }) : null;
}

function displayName({ type, id }: Actor, user: User | null): string {
  if (id === null) return "system";
  return user?.email ?? toTypedId(type === "key" ? "key" : "usr", id);
}

const hiddenFromOrganizations = { actor: "operator", details: null, ipAddress: null, requestId: null };

function toAuditEntryView(entry: AuditEntry, isOrganization: boolean) {
  const { id, at, action, organizationId = null, subject = null } = entry;
  const visible = isOrganization && entry.byOperator ? hiddenFromOrganizations : entry;
  const { actor, details = null, ipAddress = null, requestId = null } = visible;
  return { id, at, action, actor, organizationId, subject, details, ipAddress, requestId };
}
