/** Webhook endpoints: made, changed, paused, resumed and deleted by their owners, and by operators for them. */
import type { KeepAccessAct } from "../accounts/access-notices.service.ts";
import type { Origin } from "../accounts/audit.service.ts";
import type { AddressGuard } from "../platform/address-guard.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database, Queryable } from "../platform/database.ts";
import { AppError } from "../platform/errors.ts";
import { requireFreshAuthentication } from "../platform/fresh-authentication.ts";
import { newUuid, toTypedId } from "../platform/ids.ts";
import type { Actor } from "../platform/principal.ts";
import type { SecretBox } from "../platform/secret-box.ts";
import { sql, type Sql } from "../platform/sql.ts";
import { lockUntilEnd } from "../platform/transaction-lock.ts";
import { nameOf, ownedBy, type Caller } from "./caller.ts";
import { keepEndpointAct } from "./endpoint.acts.ts";
import { checkSettings, type CheckedSettings, type EndpointSettings } from "./endpoint.checks.ts";
import { IN_FLIGHT_LIMITS, RATE_LIMITS } from "./endpoint.entity.ts";
import { disableFailing } from "./endpoint.failing.ts";
import type { TellOfTrouble } from "./endpoint.trouble.ts";
import {
  endpointsById,
  endpointsInTrouble,
  findEndpoint,
  getEndpoint,
  listEndpoints,
} from "./endpoint.queries.ts";
import { addSecret, openHeaders, openSecrets, sealHeaders } from "./endpoint.secrets.ts";
import { deleteEndpoint, pauseEndpoint, resumeEndpoint, type Held } from "./endpoint.status.ts";
import type { EndpointView } from "./endpoint.view.ts";

/** What a new endpoint is of. */
export interface Owner extends Partial<Origin> {
  readonly organizationId: string;
  readonly actor: Actor;
}

export interface RevealedSecret {
  /** Newest first: the one that signs, and former ones that still sign beside it. */
  secrets: string[];
  /** The owner's own headers with their values. */
  headers: Record<string, string>;
}

/**
 * `id`: typed. An endpoint of another organisation is answered as one that is not there: NotFoundException. What cannot be
 * set is a BadRequestException with every problem.
 */
export interface EndpointService {
  /** The secret is told this once, and by `reveal`. Throws ConflictException where the organisation has too many. */
  create(
    owner: Owner,
    settings: EndpointSettings & { url: string },
  ): Promise<{ endpoint: EndpointView; secret: string }>;
  /** The oldest first. `organizationId`: only that one's. */
  list(caller: Caller, organizationId?: string, on?: Queryable): Promise<EndpointView[]>;
  /** Those that are disabled, or fail, of all organisations: for operators. The longest trouble first, at most 100. */
  inTrouble(on?: Queryable): Promise<EndpointView[]>;
  find(caller: Caller, id: string, on?: Queryable): Promise<EndpointView | null>;
  get(caller: Caller, id: string): Promise<EndpointView>;
  /** Those of `ids` (uuids) that there are, in no particular order. */
  byIds(caller: Caller, ids: readonly string[], on?: Queryable): Promise<EndpointView[]>;
  /** Changing the URL needs a fresh authentication: ReauthenticationRequiredError. */
  update(caller: Caller, id: string, settings: EndpointSettings): Promise<EndpointView>;
  /** Nothing is sent from now on; it waits. What is on its way arrives. */
  pause(caller: Caller, id: string): Promise<EndpointView>;
  /** Sends again, beginning with what waited as far as `held` says so; also closes the circuit of an active one. */
  resume(
    caller: Caller,
    id: string,
    options?: { held: Held },
  ): Promise<{ endpoint: EndpointView; discarded: number }>;
  /** Its log stays; what waits is discarded. */
  delete(caller: Caller, id: string): Promise<{ discarded: number }>;
  /** The former secret signs beside the new one for 24 hours. */
  rotateSecret(caller: Caller, id: string): Promise<{ endpoint: EndpointView; secret: string }>;
  reveal(caller: Caller, id: string): Promise<RevealedSecret>;
  /** Disables what has only failed for five days, and answers with it. */
  disableFailing(): Promise<EndpointView[]>;
}

export interface EndpointParts {
  database: Database;
  box: SecretBox;
  /** Checks a URL for an organisation (a uuid), and may take seconds to resolve its name. */
  checkUrl: (organizationId: string, url: string) => ReturnType<AddressGuard["checkUrl"]>;
  /** Tells workers that there may be something to deliver. */
  announce: () => void;
  /** Absent: nobody is told of endpoints in trouble. */
  tellOfTrouble?: TellOfTrouble | undefined;
  /** Absent: no act is recorded. */
  keepAct?: KeepAccessAct | undefined;
  clock: Clock;
}

export const MAX_ENDPOINTS = 50;
const ROTATION_TRIES = 5;

export function createEndpointService(parts: EndpointParts): EndpointService {
  const { database } = parts;
  return {
    create: (owner, settings) => create(parts, owner, settings),
    list: (caller, organizationId, on = database) =>
      listEndpoints({ ...parts, database: on }, caller, organizationId),
    inTrouble: (on = database) => endpointsInTrouble({ ...parts, database: on }),
    find: (caller, id, on = database) =>
      findEndpoint({ ...parts, database: on }, caller, id).then((found) => found?.view ?? null),
    get: (caller, id) => getEndpoint(parts, caller, id).then(({ view }) => view),
    byIds: (caller, ids, on = database) => endpointsById({ ...parts, database: on }, caller, ids),
    update: (caller, id, settings) => update(parts, caller, { id, settings }),
    pause: (caller, id) => pauseEndpoint(parts, caller, id),
    resume: (caller, id, { held } = { held: "send" }) => resumeEndpoint(parts, caller, { id, held }),
    delete: (caller, id) => deleteEndpoint(parts, caller, id),
    rotateSecret: (caller, id) => rotateSecret(parts, caller, id),
    reveal: (caller, id) => reveal(parts, caller, id),
    disableFailing: () => disableFailing(parts),
  };
}

async function create(
  parts: EndpointParts,
  owner: Owner,
  settings: EndpointSettings & { url: string },
): Promise<{ endpoint: EndpointView; secret: string }> {
  const { database, box, clock } = parts;
  const { organizationId } = owner;
  const checked = await checkSettings(settings, (url) => parts.checkUrl(organizationId, url));
  const id = newUuid();
  const { text, secrets } = addSecret(box, id, { former: [], nowMs: clock.now() });
  const insert = sql`
    insert into webhook_endpoint (id, organization_id, url, description, event_types, sealed_headers, secrets,
      max_in_flight, per_second, created_by)
    select ${id}, ${owner.organizationId}, ${checked.url}, ${checked.description ?? ""}, ${checked.eventTypes ?? null}::text[],
      ${sealHeaders(box, id, checked.headers ?? {})}, ${JSON.stringify(secrets)}::jsonb,
      ${checked.maxInFlight ?? IN_FLIGHT_LIMITS.usual}::int, ${checked.perSecond ?? RATE_LIMITS.usual}::int,
      ${nameOf(owner.actor)}
    where (select count(*) from webhook_endpoint
      where organization_id = ${owner.organizationId} and deleted_at is null) < ${MAX_ENDPOINTS}
    returning 1`;
  const rows = await database.transaction(async (tx) => {
    await lockUntilEnd(tx, `webhook endpoints of ${owner.organizationId}`);
    const inserted = await tx.query(insert);
    const endpoint = { id, organization_id: organizationId, url: checked.url ?? settings.url };
    if (inserted.length > 0)
      await keepEndpointAct(parts.keepAct, tx, { action: "endpoint.created", endpoint, by: owner });
    return inserted;
  });
  if (rows.length === 0) {
    throw new AppError(
      "ConflictException",
      `An organisation has at most ${MAX_ENDPOINTS} webhook endpoints. Delete one that is not needed any more.`,
      { details: { limit: MAX_ENDPOINTS } },
    );
  }
  const { view } = await getEndpoint(parts, owner, toTypedId("whe", id));
  return { endpoint: view, secret: text };
}

async function update(
  parts: EndpointParts,
  caller: Caller,
  { id, settings }: { id: string; settings: EndpointSettings },
): Promise<EndpointView> {
  // What is not there is told before what is wrong with the change.
  const { row } = await getEndpoint(parts, caller, id);
  const checked = await checkSettings(settings, (url) => parts.checkUrl(row.organization_id, url));
  const isMoved = checked.url !== undefined && checked.url !== row.url;
  if (isMoved) requireFreshAuthentication(caller, parts.clock.now());
  await parts.database.transaction(async (tx) => {
    const changed = await tx.query(
      sql`${settingsOf(parts, row.id, { checked, isMoved })}
        where endpoint.id = ${row.id} and ${ownedBy(caller)} and endpoint.deleted_at is null returning 1`,
    );
    if (changed.length === 0 || !isMoved) return;
    const details = { former_host: new URL(row.url).host };
    const endpoint = { ...row, url: checked.url ?? row.url };
    await keepEndpointAct(parts.keepAct, tx, { action: "endpoint.moved", endpoint, by: caller, details });
  });
  if (isMoved) parts.announce();
  return (await getEndpoint(parts, caller, id)).view;
}

function settingsOf(
  { box }: EndpointParts,
  id: string,
  { checked, isMoved }: { checked: CheckedSettings; isMoved: boolean },
): Sql {
  const { url, description, eventTypes, headers, maxInFlight, perSecond } = checked;
  const isForSenders = [url, headers, maxInFlight, perSecond].some((part) => part !== undefined);
  // How another receiver did says nothing of the new one.
  const reset = isMoved ? sql`, blocked_until = null, circuit_step = null, failing_since = null` : sql``;
  return sql`
    update webhook_endpoint endpoint set
      url = coalesce(${url ?? null}, url), description = coalesce(${description ?? null}, description),
      event_types = case when ${eventTypes !== undefined} then ${eventTypes ?? null}::text[] else event_types end,
      sealed_headers = case when ${headers !== undefined} then ${headers ? sealHeaders(box, id, headers) : null}
        else sealed_headers end,
      max_in_flight = coalesce(${maxInFlight ?? null}::int, max_in_flight),
      per_second = coalesce(${perSecond ?? null}::int, per_second),
      version = version + ${isForSenders ? 1 : 0}, updated_at = now() ${reset}`;
}

async function rotateSecret(
  parts: EndpointParts,
  caller: Caller,
  id: string,
): Promise<{ endpoint: EndpointView; secret: string }> {
  for (let tried = 1; tried <= ROTATION_TRIES; tried += 1) {
    const { row } = await getEndpoint(parts, caller, id);
    const former = row.secrets;
    const { text, secrets } = addSecret(parts.box, row.id, { former, nowMs: parts.clock.now() });
    // Written only over the secrets that were read: of two rotations at once none loses the other's.
    const replace = sql`
      update webhook_endpoint endpoint set secrets = ${JSON.stringify(secrets)}::jsonb, version = version + 1, updated_at = now()
      where endpoint.id = ${row.id} and ${ownedBy(caller)} and endpoint.deleted_at is null and secrets = ${JSON.stringify(former)}::jsonb returning 1`;
    const isChanged = await parts.database.transaction(async (tx) => {
      if ((await tx.query(replace)).length === 0) return false;
      const act = { action: "endpoint.secret_rotated", endpoint: row, by: caller } as const;
      await keepEndpointAct(parts.keepAct, tx, act);
      return true;
    });
    if (isChanged) return { endpoint: (await getEndpoint(parts, caller, id)).view, secret: text };
  }
  throw new AppError("ConflictException", "Others are rotating the same secret. Try again.");
}

/** The one way in which secrets leave us; what records who asked belongs here. */
async function reveal(parts: EndpointParts, caller: Caller, id: string): Promise<RevealedSecret> {
  const { row } = await getEndpoint(parts, caller, id);
  const { secrets } = row;
  return {
    secrets: openSecrets(parts.box, row.id, { secrets, nowMs: parts.clock.now() }),
    headers: openHeaders(parts.box, row.id, row.sealed_headers),
  };
}
