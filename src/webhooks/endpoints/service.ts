/** Creates, lists, updates, pauses, resumes and deletes webhook endpoints and rotates their secrets. */
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

/** The organisation and the actor that create an endpoint. */
export interface EndpointOwner extends Partial<AuditSource> {
  readonly organizationId: string;
  readonly actor: Actor;
}

export interface RevealedSecret {
  /** Newest first: the current secret, then former ones that are still active. */
  secrets: string[];
  /** Custom headers with their values. */
  headers: Record<string, string>;
}

/**
 * `id` is a typed id. Throws NotFoundException for endpoints that do not exist or belong to another organisation, and
 * BadRequestException with every problem of invalid settings.
 */
export interface EndpointService {
  /** Returns the secret, which only `reveal` shows again. Throws ConflictException at 50 endpoints per organisation. */
  create(
    owner: EndpointOwner,
    settings: EndpointSettings & { url: string },
  ): Promise<{ endpoint: EndpointView; secret: string }>;
  /** Oldest first. `organizationId` (UUID) selects one organisation; `database` overrides the service's own. */
  list(principal: WebhookPrincipal, organizationId?: string, database?: Queryable): Promise<EndpointView[]>;
  /** Disabled and failing endpoints of all organisations, for operators. Longest failing first, at most 100. */
  listFailing(database?: Queryable): Promise<EndpointView[]>;
  find(principal: WebhookPrincipal, id: string, database?: Queryable): Promise<EndpointView | null>;
  get(principal: WebhookPrincipal, id: string): Promise<EndpointView>;
  /** The visible endpoints with these ids (UUIDs), in no particular order. */
  findByIds(
    principal: WebhookPrincipal,
    ids: readonly string[],
    database?: Queryable,
  ): Promise<EndpointView[]>;
  /** Changing the URL requires a recent authentication; otherwise it throws ReauthenticationRequiredError. */
  update(principal: WebhookPrincipal, id: string, settings: EndpointSettings): Promise<EndpointView>;
  /** Puts deliveries on hold. Deliveries in flight are not stopped. */
  pause(principal: WebhookPrincipal, id: string): Promise<EndpointView>;
  /** Resumes delivery and closes the circuit. `pendingPolicy` decides on deliveries on hold; the default sends them. */
  resume(
    principal: WebhookPrincipal,
    id: string,
    options?: { pendingPolicy: PendingPolicy },
  ): Promise<{ endpoint: EndpointView; discarded: number }>;
  /** Discards pending deliveries and keeps the log. */
  delete(principal: WebhookPrincipal, id: string): Promise<{ discarded: number }>;
  /** The former secret stays active for 24 hours. */
  rotateSecret(principal: WebhookPrincipal, id: string): Promise<{ endpoint: EndpointView; secret: string }>;
  reveal(principal: WebhookPrincipal, id: string): Promise<RevealedSecret>;
  /** Disables endpoints that have only failed for five days, and returns them. */
  disableFailing(): Promise<EndpointView[]>;
}

export interface EndpointServiceDeps {
  database: Database;
  secretBox: SecretBox;
  /** Checks a URL for an organisation (UUID). DNS can take seconds. */
  checkUrl: (organizationId: string, url: string) => ReturnType<AddressGuard["checkUrl"]>;
  /** Wakes the workers. */
  notifyWorkers: () => void;
  /** If absent, owners get no mail about failing endpoints. */
  alertNotifier?: AlertNotifier | undefined;
  /** If absent, nothing is recorded in the audit log. */
  recordAccessChange?: RecordAccessChange | undefined;
  clock: Clock;
}

export const MAX_ENDPOINTS = 50;
const MAX_ROTATION_ATTEMPTS = 5;

export function createEndpointService(deps: EndpointServiceDeps): EndpointService {
  const { database } = deps;
  return {
    create: (owner, settings) => create(deps, owner, settings),
    list: (principal, organizationId, queryable = database) =>
      listEndpoints({ ...deps, database: queryable }, principal, organizationId),
    listFailing: (queryable = database) => listFailingEndpoints({ ...deps, database: queryable }),
    find: (principal, id, queryable = database) =>
      findEndpoint({ ...deps, database: queryable }, principal, id).then((found) => found?.view ?? null),
    get: (principal, id) => getEndpoint(deps, principal, id).then(({ view }) => view),
    findByIds: (principal, ids, queryable = database) =>
      findEndpointsById({ ...deps, database: queryable }, principal, ids),
    update: (principal, id, settings) => update(deps, principal, { id, settings }),
    pause: (principal, id) => pauseEndpoint(deps, principal, id),
    resume: (principal, id, { pendingPolicy } = { pendingPolicy: "send" }) =>
      resumeEndpoint(deps, principal, { id, pendingPolicy }),
    delete: (principal, id) => deleteEndpoint(deps, principal, id),
    rotateSecret: (principal, id) => rotateSecret(deps, principal, id),
    reveal: (principal, id) => revealSecrets(deps, principal, id),
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
      ${checked.maxInFlight ?? IN_FLIGHT_LIMITS.default}::int, ${checked.perSecond ?? RATE_LIMITS.default}::int,
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
      `An organisation can have at most ${MAX_ENDPOINTS} webhook endpoints. Delete one that you no longer need.`,
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
  // NotFoundException comes before validation problems.
  const { row } = await getEndpoint(deps, principal, id);
  const checked = await validateSettings(settings, (url) => deps.checkUrl(row.organization_id, url));
  const isUrlChanged = checked.url !== undefined && checked.url !== row.url;
  if (isUrlChanged) requireFreshAuthentication(principal, deps.clock.now());
  await deps.database.transaction(async (tx) => {
    const changed = await tx.query(
      sql`${updateSettingsSql(deps, row.id, { checked, isUrlChanged })}
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
  { checked, isUrlChanged }: { checked: ValidatedSettings; isUrlChanged: boolean },
): Sql {
  const { url, description, eventTypes, headers, maxInFlight, perSecond } = checked;
  const affectsSending = [url, headers, maxInFlight, perSecond].some((setting) => setting !== undefined);
  // A new URL is another receiver and starts without history.
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
    // Compare-and-set, so that concurrent rotations do not lose each other's secret.
    const replace = sql`
      update webhook_endpoint endpoint set secrets = ${JSON.stringify(secrets)}::jsonb, version = version + 1, updated_at = now()
      where endpoint.id = ${row.id} and ${tenantFilter(principal)} and endpoint.deleted_at is null and secrets = ${JSON.stringify(former)}::jsonb returning 1`;
    const isChanged = await deps.database.transaction(async (tx) => {
      if ((await tx.query(replace)).length === 0) return false;
      const event = { action: "endpoint.secret_rotated", endpoint: row, by: principal } as const;
      await recordEndpointEvent(deps.recordAccessChange, tx, event);
      return true;
    });
    if (isChanged) return { endpoint: (await getEndpoint(deps, principal, id)).view, secret: text };
  }
  throw new AppError("ConflictException", "The secret is being rotated by other requests. Try again.");
}

/** The only function that returns existing secrets. */
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
