/** Webhook endpoints: made, changed, paused, resumed and deleted by their owners, and by operators for them. */
import type { RecordAccessChange } from "../../mail/api.ts";
import type { AuditSource } from "../../audit/api.ts";
import type { AddressGuard } from "../../platform/http-client/address-guard.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Database, Queryable } from "../../platform/postgres/database.ts";
import { AppError } from "../../platform/errors.ts";
import { requireFreshAuthentication } from "../../platform/fresh-authentication.ts";
import { newUuid, toTypedId } from "../../platform/ids.ts";
import type { Actor } from "../../platform/principal.ts";
import type { SecretBox } from "../../platform/secret-box.ts";
import { sql, type Sql } from "../../platform/postgres/sql.ts";
import { lockForTransaction } from "../../platform/postgres/transaction-lock.ts";
import { actorLabel, tenantFilter, type WebhookPrincipal } from "../tenant-scope.ts";
import { recordEndpointEvent } from "./audit.ts";
import { validateSettings, type ValidatedSettings, type EndpointSettings } from "./validation.ts";
import { IN_FLIGHT_LIMITS, RATE_LIMITS } from "./entity.ts";
import { disableFailing } from "./auto-disable.ts";
import type { AlertNotifier } from "./alerts.ts";
import {
  findEndpointsById,
  listFailingEndpoints,
  findEndpoint,
  getEndpoint,
  listEndpoints,
} from "./queries.ts";
import { addSecret, openHeaders, openSecrets, sealHeaders } from "../signing/secrets.ts";
import { deleteEndpoint, pauseEndpoint, resumeEndpoint, type PendingPolicy } from "./lifecycle.ts";
import type { EndpointView } from "./view.ts";

/** What a new endpoint is of. */
export interface EndpointOwner extends Partial<AuditSource> {
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
    owner: EndpointOwner,
    settings: EndpointSettings & { url: string },
  ): Promise<{ endpoint: EndpointView; secret: string }>;
  /** The oldest first. `organizationId`: only that one's. */
  list(caller: WebhookPrincipal, organizationId?: string, on?: Queryable): Promise<EndpointView[]>;
  /** Those that are disabled, or fail, of all organisations: for operators. The longest trouble first, at most 100. */
  listFailing(on?: Queryable): Promise<EndpointView[]>;
  find(caller: WebhookPrincipal, id: string, on?: Queryable): Promise<EndpointView | null>;
  get(caller: WebhookPrincipal, id: string): Promise<EndpointView>;
  /** Those of `ids` (uuids) that there are, in no particular order. */
  findByIds(caller: WebhookPrincipal, ids: readonly string[], on?: Queryable): Promise<EndpointView[]>;
  /** Changing the URL needs a fresh authentication: ReauthenticationRequiredError. */
  update(caller: WebhookPrincipal, id: string, settings: EndpointSettings): Promise<EndpointView>;
  /** Nothing is sent from now on; it waits. What is on its way arrives. */
  pause(caller: WebhookPrincipal, id: string): Promise<EndpointView>;
  /** Sends again, beginning with what waited as far as `pendingPolicy` says so; also closes the circuit of an active one. */
  resume(
    caller: WebhookPrincipal,
    id: string,
    options?: { pendingPolicy: PendingPolicy },
  ): Promise<{ endpoint: EndpointView; discarded: number }>;
  /** Its log stays; what waits is discarded. */
  delete(caller: WebhookPrincipal, id: string): Promise<{ discarded: number }>;
  /** The former secret signs beside the new one for 24 hours. */
  rotateSecret(caller: WebhookPrincipal, id: string): Promise<{ endpoint: EndpointView; secret: string }>;
  reveal(caller: WebhookPrincipal, id: string): Promise<RevealedSecret>;
  /** Disables what has only failed for five days, and answers with it. */
  disableFailing(): Promise<EndpointView[]>;
}

export interface EndpointServiceDeps {
  database: Database;
  secretBox: SecretBox;
  /** Checks a URL for an organisation (a uuid), and may take seconds to resolve its name. */
  checkUrl: (organizationId: string, url: string) => ReturnType<AddressGuard["checkUrl"]>;
  /** Tells workers that there may be something to deliver. */
  notifyWorkers: () => void;
  /** Absent: nobody is told of endpoints in trouble. */
  alertNotifier?: AlertNotifier | undefined;
  /** Absent: no act is recorded. */
  recordAccessChange?: RecordAccessChange | undefined;
  clock: Clock;
}

export const MAX_ENDPOINTS = 50;
const MAX_ROTATION_ATTEMPTS = 5;

export function createEndpointService(deps: EndpointServiceDeps): EndpointService {
  const { database } = deps;
  return {
    create: (owner, settings) => create(deps, owner, settings),
    list: (principal, organizationId, on = database) =>
      listEndpoints({ ...deps, database: on }, principal, organizationId),
    listFailing: (on = database) => listFailingEndpoints({ ...deps, database: on }),
    find: (caller, id, on = database) =>
      findEndpoint({ ...deps, database: on }, caller, id).then((found) => found?.view ?? null),
    get: (caller, id) => getEndpoint(deps, caller, id).then(({ view }) => view),
    findByIds: (caller, ids, on = database) => findEndpointsById({ ...deps, database: on }, caller, ids),
    update: (caller, id, settings) => update(deps, caller, { id, settings }),
    pause: (caller, id) => pauseEndpoint(deps, caller, id),
    resume: (caller, id, { pendingPolicy } = { pendingPolicy: "send" }) =>
      resumeEndpoint(deps, caller, { id, pendingPolicy }),
    delete: (caller, id) => deleteEndpoint(deps, caller, id),
    rotateSecret: (caller, id) => rotateSecret(deps, caller, id),
    reveal: (caller, id) => revealSecrets(deps, caller, id),
    disableFailing: () => disableFailing(deps),
  };
}

async function create(
  deps: EndpointServiceDeps,
  owner: EndpointOwner,
  settings: EndpointSettings & { url: string },
): Promise<{ endpoint: EndpointView; secret: string }> {
  const { database, secretBox, clock } = deps;
  const { organizationId } = owner;
  const checked = await validateSettings(settings, (url) => deps.checkUrl(organizationId, url));
  const id = newUuid();
  const { text, secrets } = addSecret(secretBox, id, { former: [], nowMs: clock.now() });
  const insert = sql`
    insert into webhook_endpoint (id, organization_id, url, description, event_types, sealed_headers, secrets,
      max_in_flight, per_second, created_by)
    select ${id}, ${owner.organizationId}, ${checked.url}, ${checked.description ?? ""}, ${checked.eventTypes ?? null}::text[],
      ${sealHeaders(secretBox, id, checked.headers ?? {})}, ${JSON.stringify(secrets)}::jsonb,
      ${checked.maxInFlight ?? IN_FLIGHT_LIMITS.usual}::int, ${checked.perSecond ?? RATE_LIMITS.usual}::int,
      ${actorLabel(owner.actor)}
    where (select count(*) from webhook_endpoint
      where organization_id = ${owner.organizationId} and deleted_at is null) < ${MAX_ENDPOINTS}
    returning 1`;
  const rows = await database.transaction(async (tx) => {
    await lockForTransaction(tx, `webhook endpoints of ${owner.organizationId}`);
    const inserted = await tx.query(insert);
    const endpoint = { id, organization_id: organizationId, url: checked.url ?? settings.url };
    if (inserted.length > 0)
      await recordEndpointEvent(deps.recordAccessChange, tx, {
        action: "endpoint.created",
        endpoint,
        by: owner,
      });
    return inserted;
  });
  if (rows.length === 0) {
    throw new AppError(
      "ConflictException",
      `An organisation has at most ${MAX_ENDPOINTS} webhook endpoints. Delete one that is not needed any more.`,
      { details: { limit: MAX_ENDPOINTS } },
    );
  }
  const { view } = await getEndpoint(deps, owner, toTypedId("whe", id));
  return { endpoint: view, secret: text };
}

async function update(
  deps: EndpointServiceDeps,
  principal: WebhookPrincipal,
  { id, settings }: { id: string; settings: EndpointSettings },
): Promise<EndpointView> {
  // What is not there is told before what is wrong with the change.
  const { row } = await getEndpoint(deps, principal, id);
  const checked = await validateSettings(settings, (url) => deps.checkUrl(row.organization_id, url));
  const isUrlChanged = checked.url !== undefined && checked.url !== row.url;
  if (isUrlChanged) requireFreshAuthentication(principal, deps.clock.now());
  await deps.database.transaction(async (tx) => {
    const changed = await tx.query(
      sql`${updateSettingsSql(deps, row.id, { checked, isMoved: isUrlChanged })}
        where endpoint.id = ${row.id} and ${tenantFilter(principal)} and endpoint.deleted_at is null returning 1`,
    );
    if (changed.length === 0 || !isUrlChanged) return;
    const details = { former_host: new URL(row.url).host };
    const endpoint = { ...row, url: checked.url ?? row.url };
    await recordEndpointEvent(deps.recordAccessChange, tx, {
      action: "endpoint.url_changed",
      endpoint,
      by: principal,
      details,
    });
  });
  if (isUrlChanged) deps.notifyWorkers();
  return (await getEndpoint(deps, principal, id)).view;
}

function updateSettingsSql(
  { secretBox }: EndpointServiceDeps,
  id: string,
  { checked, isMoved: isUrlChanged }: { checked: ValidatedSettings; isMoved: boolean },
): Sql {
  const { url, description, eventTypes, headers, maxInFlight, perSecond } = checked;
  const affectsSending = [url, headers, maxInFlight, perSecond].some((part) => part !== undefined);
  // How another receiver did says nothing of the new one.
  const reset = isUrlChanged ? sql`, blocked_until = null, circuit_step = null, failing_since = null` : sql``;
  return sql`
    update webhook_endpoint endpoint set
      url = coalesce(${url ?? null}, url), description = coalesce(${description ?? null}, description),
      event_types = case when ${eventTypes !== undefined} then ${eventTypes ?? null}::text[] else event_types end,
      sealed_headers = case when ${headers !== undefined} then ${headers ? sealHeaders(secretBox, id, headers) : null}
        else sealed_headers end,
      max_in_flight = coalesce(${maxInFlight ?? null}::int, max_in_flight),
      per_second = coalesce(${perSecond ?? null}::int, per_second),
      version = version + ${affectsSending ? 1 : 0}, updated_at = now() ${reset}`;
}

async function rotateSecret(
  deps: EndpointServiceDeps,
  principal: WebhookPrincipal,
  id: string,
): Promise<{ endpoint: EndpointView; secret: string }> {
  for (let attempt = 1; attempt <= MAX_ROTATION_ATTEMPTS; attempt += 1) {
    const { row } = await getEndpoint(deps, principal, id);
    const former = row.secrets;
    const { text, secrets } = addSecret(deps.secretBox, row.id, { former, nowMs: deps.clock.now() });
    // Written only over the secrets that were read: of two rotations at once none loses the other's.
    const replace = sql`
      update webhook_endpoint endpoint set secrets = ${JSON.stringify(secrets)}::jsonb, version = version + 1, updated_at = now()
      where endpoint.id = ${row.id} and ${tenantFilter(principal)} and endpoint.deleted_at is null and secrets = ${JSON.stringify(former)}::jsonb returning 1`;
    const isChanged = await deps.database.transaction(async (tx) => {
      if ((await tx.query(replace)).length === 0) return false;
      const act = { action: "endpoint.secret_rotated", endpoint: row, by: principal } as const;
      await recordEndpointEvent(deps.recordAccessChange, tx, act);
      return true;
    });
    if (isChanged) return { endpoint: (await getEndpoint(deps, principal, id)).view, secret: text };
  }
  throw new AppError("ConflictException", "Others are rotating the same secret. Try again.");
}

/** The one way in which secrets leave us; what records who asked belongs here. */
async function revealSecrets(
  deps: EndpointServiceDeps,
  principal: WebhookPrincipal,
  id: string,
): Promise<RevealedSecret> {
  const { row } = await getEndpoint(deps, principal, id);
  const { secrets } = row;
  return {
    secrets: openSecrets(deps.secretBox, row.id, { secrets, nowMs: deps.clock.now() }),
    headers: openHeaders(deps.secretBox, row.id, row.sealed_headers),
  };
}
