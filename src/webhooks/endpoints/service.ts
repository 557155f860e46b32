/** Creates, lists, updates, pauses, resumes and deletes webhook endpoints and rotates their secrets. */
import { type EntityManager, raw } from "@mikro-orm/postgresql";
import {
  modeOf,
  Organization,
  type OrganizationMode,
  type OrganizationSelection,
  partnerIdOf,
  selectedOrganizations,
} from "../../organizations/api.ts";
import { AppError } from "../../core/errors.ts";
import { requireFreshAuthentication } from "../../core/fresh-authentication.ts";
import type { AddressGuard } from "../../core/http-client/address-guard.ts";
import { fromTypedId, newUuid, toTypedId } from "../../core/ids.ts";
import { partnerOf } from "../../core/principal.ts";
import type { Database, Reader } from "../../core/postgres/database.ts";
import type { InTransaction, Transaction } from "../../core/postgres/transaction.ts";
import { lockForTransaction } from "../../core/postgres/transaction-lock.ts";
import type { SecretBox } from "../../core/secret-box.ts";
import { MINUTE_MS, SECOND_MS } from "../../core/time.ts";
import { discardPending } from "../deliveries/discard-pending.sql.ts";
import { retryWaiting } from "../deliveries/retry-waiting.sql.ts";
import { actorLabel, type EndpointOwner, type WebhookPrincipal } from "../webhook-principal.ts";
import { addSecret, openHeaders, openSecrets, sealHeaders } from "../signing/secrets.ts";
import type { AlertNotifier } from "./alerts.ts";
import { unmaskHeaders } from "./custom-headers.ts";
import { disableFailing, type DisabledEndpoint } from "./disable-failing-endpoints.sql.ts";
import { noFailures, WebhookEndpoint } from "./entity.ts";
import {
  type EndpointReadDeps,
  findEndpoints,
  findFailingEndpoints,
  forPrincipal,
  getEndpoint,
  lockEndpoint,
  notFound,
} from "./find.ts";
import {
  changedSettings,
  type EndpointChange,
  recordEndpointChange,
  type EndpointChangeRecorder,
} from "./record-change.ts";
import { validateSettings, type EndpointSettings, type ValidatedSettings } from "./validation.ts";
import type { EndpointView } from "./view.ts";

export interface RevealedSecret {
  /** Newest first: the current secret, then former ones that are still active. */
  secrets: string[];
  /** Custom headers with their values. */
  headers: Record<string, string>;
}

/** Per organisation. A run of test jobs sends each step to every test endpoint. */
export const MAX_ENDPOINTS = { live: 50, test: 5 } as const satisfies Record<OrganizationMode, number>;

/** On resume: send all deliveries on hold, discard all, or discard those from before `since`. */
export type PendingPolicy = "send" | "discard" | { since: Date };

export interface EndpointServiceDeps extends EndpointReadDeps, EndpointChangeRecorder {
  database: Database;
  secretBox: SecretBox;
  /** Wakes the workers. They find retries that are due only of the given endpoints (UUIDs). */
  notifyWorkers: (endpointIds?: readonly string[]) => void;
  /** Checks a URL for a partner (UUID). DNS can take seconds. */
  checkUrl: (partnerId: string, url: string) => ReturnType<AddressGuard["checkUrl"]>;
  /** If absent, owners get no mail about failing endpoints. */
  alertNotifier?: AlertNotifier | undefined;
}

/**
 * `id` is a typed id. Throws NotFoundException for endpoints that do not exist or belong to another organisation, and
 * BadRequestException with every problem of invalid settings.
 */
export class EndpointService {
  readonly #deps: EndpointServiceDeps;

  constructor(deps: EndpointServiceDeps) {
    this.#deps = deps;
  }

  #record(tx: Transaction, principal: WebhookPrincipal, change: EndpointChange): Promise<void> {
    return recordEndpointChange(this.#deps, tx, principal, change);
  }

  /** Returns the settings to store for a partner (UUID). Resolves the URL's host name, which can take seconds. */
  validate(partnerId: string, settings: EndpointSettings): Promise<ValidatedSettings> {
    return validateSettings(settings, (url) => this.#deps.checkUrl(partnerId, url));
  }

  /**
   * Returns the secret, which only `reveal` shows again. Throws ConflictException at `MAX_ENDPOINTS`. With `tx`, pass the result
   * of `validate`, so that no connection to PostgreSQL is held meanwhile.
   */
  async create(
    owner: EndpointOwner,
    settings: EndpointSettings & { url: string },
    { tx, validated }: InTransaction & { validated?: ValidatedSettings | undefined } = {},
  ): Promise<{ endpoint: EndpointView; secret: string }> {
    const { database, secretBox, clock } = this.#deps;
    const { headers = {}, ...checked } = validated ?? (await this.validate(partnerOf(owner), settings));
    const id = newUuid();
    const { text, secrets } = addSecret(secretBox, id, { former: [], nowMs: clock.now() });
    await database.transactionalIn(tx, async (em, own) => {
      const organization = await admitEndpoint(em, own, owner);
      const endpoint = em.create(WebhookEndpoint, {
        ...checked,
        id,
        organization,
        url: checked.url ?? settings.url,
        sealedHeaders: sealHeaders(secretBox, id, unmaskHeaders(headers)),
        secrets,
        createdBy: actorLabel(owner.actor),
      });
      em.persist(endpoint);
      await this.#record(own, owner, { action: "endpoint.created", endpoint });
    });
    return { endpoint: await this.get(owner, toTypedId("whe", id), tx), secret: text };
  }

  /** Oldest first. `selection` is for operators; `database` overrides the service's own. */
  list(
    principal: WebhookPrincipal,
    selection: OrganizationSelection = {},
    database: Reader = this.#deps.database,
  ): Promise<EndpointView[]> {
    const where = { organization: selectedOrganizations(selection) };
    return findEndpoints({ ...this.#deps, database }, principal, { where });
  }

  /** Disabled and failing endpoints of all live organisations, for operators. Longest failing first, at most 100. */
  listFailing(database: Reader = this.#deps.database): Promise<EndpointView[]> {
    return findFailingEndpoints({ ...this.#deps, database });
  }

  async find(
    principal: WebhookPrincipal,
    id: string,
    database: Reader = this.#deps.database,
  ): Promise<EndpointView | null> {
    const uuid = fromTypedId("whe", id);
    const [view] = uuid === null ? [] : await this.findByIds(principal, [uuid], database);
    return view ?? null;
  }

  async get(principal: WebhookPrincipal, id: string, database?: Reader): Promise<EndpointView> {
    return (await this.find(principal, id, database)) ?? notFound();
  }

  /** The visible endpoints with these ids (UUIDs), in no particular order. */
  findByIds(
    principal: WebhookPrincipal,
    ids: readonly string[],
    database: Reader = this.#deps.database,
  ): Promise<EndpointView[]> {
    return findEndpoints({ ...this.#deps, database }, principal, { where: { id: { $in: [...ids] } } });
  }

  /** As `validate`, for a change of an endpoint. NotFoundException comes before validation problems. */
  async validateChange(
    principal: WebhookPrincipal,
    id: string,
    settings: EndpointSettings,
  ): Promise<ValidatedSettings> {
    const { organization } = await getEndpoint(this.#deps.database, principal, id);
    return await this.validate(partnerIdOf(organization), settings);
  }

  /**
   * Changing the URL requires a recent authentication; otherwise it throws ReauthenticationRequiredError. `validated` is the
   * result of `validateChange`, if the caller has it.
   */
  async update(
    principal: WebhookPrincipal,
    id: string,
    settings: EndpointSettings,
    { validated: known }: { validated?: ValidatedSettings | undefined } = {},
  ): Promise<EndpointView> {
    const { database, secretBox, clock, notifyWorkers } = this.#deps;
    const validated = known ?? (await this.validateChange(principal, id, settings));
    const { headers, ...checked } = validated;
    const isUrlChanged = await database.transactional(async (em, tx) => {
      const endpoint = await lockEndpoint(em, principal, id);
      const formerUrl = endpoint.url;
      const changed = changedSettings(endpoint, validated);
      Object.assign(endpoint, checked);
      if (headers) {
        const stored = () => openHeaders(secretBox, endpoint.id, endpoint.sealedHeaders);
        endpoint.sealedHeaders = sealHeaders(secretBox, endpoint.id, unmaskHeaders(headers, stored));
      }
      if (changed.length > 0)
        await this.#record(tx, principal, {
          action: "endpoint.changed",
          endpoint,
          details: { settings: changed },
        });
      const { url, maxInFlight, perSecond } = checked;
      const affectsSending = [url, headers, maxInFlight, perSecond].some((setting) => setting !== undefined);
      if (affectsSending) endpoint.version += 1;
      if (endpoint.url === formerUrl) return false;
      requireFreshAuthentication(principal, clock.now());
      // A new URL is another receiver and starts without history.
      Object.assign(endpoint, noFailures);
      const details = { former_host: new URL(formerUrl).host };
      await this.#record(tx, principal, { action: "endpoint.url_changed", endpoint, details });
      return true;
    });
    if (isUrlChanged) notifyWorkers();
    return await this.get(principal, id);
  }

  /** Puts deliveries on hold. Deliveries in flight are not stopped. A disabled endpoint stays disabled. */
  async pause(principal: WebhookPrincipal, id: string): Promise<EndpointView> {
    const { database, clock } = this.#deps;
    await database.transactional(async (em, tx) => {
      const endpoint = await lockEndpoint(em, principal, id);
      if (endpoint.status !== "active") return;
      endpoint.status = "paused";
      endpoint.statusSince = new Date(clock.now());
      await this.#record(tx, principal, { action: "endpoint.paused", endpoint });
    });
    return await this.get(principal, id);
  }

  /** Resumes delivery and closes the circuit. `pendingPolicy` decides on deliveries on hold. */
  async resume(
    principal: WebhookPrincipal,
    id: string,
    { pendingPolicy }: { pendingPolicy: PendingPolicy } = { pendingPolicy: "send" },
  ): Promise<{ endpoint: EndpointView; discarded: number }> {
    const { database, clock, notifyWorkers } = this.#deps;
    const createdBefore = typeof pendingPolicy === "object" ? pendingPolicy.since : undefined;
    const { id: endpointId } = await getEndpoint(database, principal, id);
    const discarded =
      pendingPolicy === "send"
        ? 0
        : await discardPending(database, { endpointId, createdBefore, endpointIs: "paused or disabled" });
    await database.transactional(async (em, tx) => {
      const endpoint = await lockEndpoint(em, principal, id);
      const from = endpoint.status;
      if (from !== "active") endpoint.statusSince = new Date(clock.now());
      // A new version, so that results of attempts in flight do not change the endpoint's state.
      const version = endpoint.version + 1;
      Object.assign(endpoint, noFailures, { status: "active", disabledReason: null, version });
      const details = { from, ...(pendingPolicy !== "send" && { discarded }) };
      await this.#record(tx, principal, { action: "endpoint.resumed", endpoint, details });
    });
    notifyWorkers();
    return { endpoint: await this.get(principal, id), discarded };
  }

  /**
   * Makes the waiting retries of an active endpoint due and returns their number. An open circuit lets one delivery through now, and
   * closes if it succeeds. Throws ConflictException for a paused or disabled endpoint, and TooManyRequestsException within a minute
   * of the last time.
   */
  async retry(
    principal: WebhookPrincipal,
    id: string,
    { tx: outer }: InTransaction = {},
  ): Promise<{ endpoint: EndpointView; retried: number }> {
    const { database, clock, notifyWorkers } = this.#deps;
    const found = await getEndpoint(outer ?? database, principal, id);
    assertRetryable(found, clock.now());
    // First, while the circuit still blocks, so that no retry fails and becomes due twice.
    const retried = await retryWaiting(outer ?? database, found.id);
    await database.transactionalIn(outer, async (em, tx) => {
      const endpoint = await lockEndpoint(em, principal, id);
      assertRetryable(endpoint, clock.now());
      const isOpen = typeof endpoint.circuitStep === "number";
      // PostgreSQL's clock, by which the workers decide. A new version, as on resume.
      const blockedUntil = isOpen ? raw("now()") : null;
      const version = endpoint.version + 1;
      const retriedAt = new Date(clock.now());
      Object.assign(endpoint, { blockedUntil, circuitStep: isOpen ? 0 : null, retriedAt, version });
      const details = { retried };
      await this.#record(tx, principal, { action: "endpoint.retried", endpoint, details });
      tx.afterCommit(() => notifyWorkers([found.id]));
    });
    return { endpoint: await this.get(principal, id, outer), retried };
  }

  /**
   * Keeps the log, and discards pending deliveries, also those in flight: they would be retried. Secrets and headers are gone at
   * once; the row goes with its last delivery (`purgeExpiredDeliveries`).
   */
  async delete(principal: WebhookPrincipal, id: string): Promise<{ discarded: number }> {
    const { database, clock } = this.#deps;
    const endpointId = await database.transactional(async (em, tx) => {
      const endpoint = await lockEndpoint(em, principal, id);
      Object.assign(endpoint, { deletedAt: new Date(clock.now()), secrets: [], sealedHeaders: null });
      endpoint.version += 1;
      await this.#record(tx, principal, { action: "endpoint.deleted", endpoint });
      return endpoint.id;
    });
    return { discarded: await discardPending(database, { endpointId, endpointIs: "deleted" }) };
  }

  /** The former secret stays active for 24 hours. */
  async rotateSecret(
    principal: WebhookPrincipal,
    id: string,
    { tx }: InTransaction = {},
  ): Promise<{ endpoint: EndpointView; secret: string }> {
    const { database, secretBox, clock } = this.#deps;
    const secret = await database.transactionalIn(tx, async (em, own) => {
      const endpoint = await lockEndpoint(em, principal, id);
      const former = endpoint.secrets;
      const { text, secrets } = addSecret(secretBox, endpoint.id, { former, nowMs: clock.now() });
      endpoint.secrets = secrets;
      endpoint.version += 1;
      await this.#record(own, principal, { action: "endpoint.secret_rotated", endpoint });
      return text;
    });
    return { endpoint: await this.get(principal, id, tx), secret };
  }

  /** The only method that returns existing secrets. */
  async reveal(principal: WebhookPrincipal, id: string): Promise<RevealedSecret> {
    const { database, secretBox, clock } = this.#deps;
    const { id: uuid, secrets, sealedHeaders } = await getEndpoint(database, principal, id);
    return {
      secrets: openSecrets(secretBox, uuid, { secrets, nowMs: clock.now() }),
      headers: openHeaders(secretBox, uuid, sealedHeaders),
    };
  }

  /** Disables endpoints of this mode that have only failed for too long (`disableRules`), and returns them. */
  disableFailing(mode: OrganizationMode): Promise<DisabledEndpoint[]> {
    return disableFailing(this.#deps.database, mode, this.#deps.alertNotifier);
  }
}

/** Each retry uses up an attempt of a delivery, of which it has ten. */
const RETRY_PAUSE_MS = MINUTE_MS;

/** Throws ConflictException and TooManyRequestsException. */
function assertRetryable({ status, retriedAt }: WebhookEndpoint, nowMs: number): void {
  if (status !== "active")
    throw new AppError(
      "ConflictException",
      `The endpoint is ${status}, so nothing is sent to it. Resume it instead.`,
    );
  const waitS = Math.ceil(((retriedAt?.getTime() ?? 0) + RETRY_PAUSE_MS - nowMs) / SECOND_MS);
  if (waitS <= 0) return;
  const message = `The deliveries of this endpoint were retried within the last minute. Try again in ${waitS} s.`;
  throw new AppError("TooManyRequestsException", message, { headers: { "Retry-After": String(waitS) } });
}

/**
 * Returns the owner's organisation. Throws ConflictException if it has the maximum number of endpoints; until `tx` ends, no other
 * transaction can create one.
 */
async function admitEndpoint(
  em: EntityManager,
  tx: Transaction,
  owner: EndpointOwner,
): Promise<Organization> {
  const { organizationId } = owner;
  await lockForTransaction(tx, `webhook endpoints of ${organizationId}`);
  const organization = await em.findOneOrFail(Organization, organizationId);
  const mode = modeOf(organization);
  const limit = MAX_ENDPOINTS[mode];
  if ((await forPrincipal(em, owner).count(WebhookEndpoint)) < limit) return organization;
  const subject = mode === "test" ? "A test organisation" : "An organisation";
  throw new AppError(
    "ConflictException",
    `${subject} can have at most ${limit} webhook endpoints. Delete one that you no longer need.`,
    { details: { limit } },
  );
}
