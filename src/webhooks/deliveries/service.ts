/** Reads and replays deliveries, sends pings and purges the log. */
import { FEED_DAYS } from "../../events/api.ts";
import { markingNumberValue } from "../../jobs/api.ts";
import { partnerIdOf } from "../../organizations/api.ts";
import type { Clock } from "../../core/clock.ts";
import { InFlightLimit } from "../../core/concurrency/in-flight-limit.ts";
import type { TokenRate } from "../../core/concurrency/token-bucket.ts";
import {
  AppError,
  badRequest,
  invalidArgument,
  invariant,
  type Problem,
  problemIn,
} from "../../core/errors.ts";
import type { Queryable } from "../../core/postgres/database.ts";
import type { InTransaction } from "../../core/postgres/transaction.ts";
import { DAY_MS } from "../../core/time.ts";
import { getEndpoint } from "../endpoints/find.ts";
import { recordEndpointChange, type EndpointChangeRecorder } from "../endpoints/record-change.ts";
import type { WebhookPrincipal } from "../webhook-principal.ts";
import { endpointHealth, type EndpointHealth } from "./health.sql.ts";
import { newestAttempts } from "./log-lookups.sql.ts";
import {
  getDelivery,
  listDeliveries,
  type DeliveryPage,
  type DeliveryPageRequest,
  type DeliveryDetail,
} from "./log-pages.sql.ts";
import { ReplayLimit } from "./replay-limit.ts";
import { replaySelected, type SelectedReplay } from "./replay-selected.ts";
import { type ReplayDeps, replayFailed, replayMissing, type ReplayResult } from "./replay.sql.ts";
import { purgeExpiredDeliveries, type DeliveryPurgeResult } from "./retention.sql.ts";
import { sendPing, type PingDeps } from "./ping.sql.ts";
import type { DeliveryView, EndpointAttempt } from "./view.ts";

export interface DeliveryServiceDeps extends ReplayDeps, Omit<PingDeps, "database">, EndpointChangeRecorder {
  clock: Clock;
  retentionDays: number;
  /** Rate at which replays of one partner may create deliveries. Default: `defaultReplayRate`. */
  replayRate?: TokenRate | undefined;
}

/** `since` is included, `until` is not. */
interface TimeRange {
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
}

/**
 * `failed`: deliveries that failed in the time range, unless their event was replayed already. `missing`: events of the time
 * range that the endpoint subscribes to and never had a delivery of. Default: the whole log.
 */
export interface ReplaySelection extends TimeRange {
  readonly which: "failed" | "missing";
}

/** Pings in flight per partner and process, because a receiver can take 15 s to respond. */
const MAX_PINGS = 5;
const MAX_PAGE_SIZE = 200;

/** Ids are typed. Throws NotFoundException for what does not exist or belongs to another organisation. */
export class DeliveryService {
  readonly #deps: DeliveryServiceDeps;
  readonly #pings = new InFlightLimit({ max: MAX_PINGS, noun: "test events", retryAfterS: 5 });
  readonly #replays: ReplayLimit;

  constructor(deps: DeliveryServiceDeps) {
    this.#deps = deps;
    this.#replays = new ReplayLimit(deps.clock, deps.replayRate);
  }

  /** Newest first, back to the retention. `database` overrides the service's own, for example with a replica. */
  async list(
    principal: WebhookPrincipal,
    page: DeliveryPageRequest,
    database: Queryable = this.#deps.database,
  ): Promise<DeliveryPage> {
    if (!(Number.isInteger(page.limit) && page.limit >= 1 && page.limit <= MAX_PAGE_SIZE))
      throw new AppError("BadRequestException", `limit must be 1 to ${MAX_PAGE_SIZE}`);
    checkTimeRange(page.filter, "query");
    const { markingNumber } = page.filter;
    if (markingNumber !== undefined && !markingNumberValue.safeParse(markingNumber).success)
      throw invalidArgument("markingNumber", "must be a valid Marking Number");
    const oldest = this.#daysAgo(this.#deps.retentionDays);
    return await listDeliveries(database, principal, { ...page, since: latest(oldest, page.filter.since) });
  }

  get(
    principal: WebhookPrincipal,
    id: string,
    database: Queryable = this.#deps.database,
  ): Promise<DeliveryDetail> {
    return getDelivery(database, principal, id);
  }

  /** The newest attempts of an endpoint, newest first. */
  async attempts(principal: WebhookPrincipal, endpointId: string): Promise<EndpointAttempt[]> {
    const { database } = this.#deps;
    const { id } = await getEndpoint(database, principal, endpointId);
    return (await newestAttempts(database, principal, [id])).get(id) ?? [];
  }

  /** Creates another delivery of the same event. Discards the original if it is pending. */
  async replay(principal: WebhookPrincipal, id: string, { tx }: InTransaction = {}): Promise<DeliveryView> {
    const [result] = await replaySelected({ ...this.#deps, tx }, principal, [id]);
    invariant(result, "each delivery has a result");
    if (!result.delivery) throw result.error;
    return result.delivery;
  }

  /** As `replay` of several, whose errors are in the results. Throws TooManyRequestsException as `replayMany`. */
  replaySelected(
    principal: WebhookPrincipal,
    ids: readonly string[],
    { tx }: InTransaction = {},
  ): Promise<SelectedReplay[]> {
    return replaySelected({ ...this.#deps, tx, limit: this.#replays }, principal, ids);
  }

  /**
   * Replays up to MAX_REPLAYED events to an endpoint in batches, each in its own transaction; an error keeps the batches before
   * it. With `tx`, all batches are in that transaction. Throws TooManyRequestsException if the rate of the partner allows
   * none.
   */
  async replayMany(
    principal: WebhookPrincipal,
    endpointId: string,
    { which, since, until }: ReplaySelection,
    { tx }: InTransaction = {},
  ): Promise<ReplayResult> {
    checkTimeRange({ since, until }, "body");
    const endpoint = await getEndpoint(tx ?? this.#deps.database, principal, endpointId);
    const { id, organization, eventTypes = null } = endpoint;
    // Before that, it is unknown what was delivered.
    const oldest = this.#daysAgo(Math.min(FEED_DAYS, this.#deps.retentionDays));
    const request = { endpointId: id, since: latest(oldest, since), until };
    const result = await this.#replays.run(partnerIdOf(organization), (reserve) => {
      const deps = { ...this.#deps, tx, reserve };
      if (which === "failed") return replayFailed(deps, request);
      const { id: organizationId, type: organizationType } = organization;
      return replayMissing(deps, { ...request, organizationId, organizationType, eventTypes });
    });
    const { replayed } = result;
    const details = { which, since, until, replayed };
    const change = { action: "endpoint.replayed", endpoint, details } as const;
    if (replayed > 0) await recordEndpointChange(this.#deps, tx ?? this.#deps.database, principal, change);
    return result;
  }

  /** The health of visible endpoints by their ids (UUIDs). */
  health(
    principal: WebhookPrincipal,
    endpointIds: readonly string[],
    database: Queryable = this.#deps.database,
  ): Promise<Map<string, EndpointHealth>> {
    return endpointHealth(database, principal, { endpointIds, nowMs: this.#deps.clock.now() });
  }

  /**
   * Sends a ping and waits for the response, at any status of the endpoint. Throws TooManyRequestsException if five pings of
   * the partner are in flight, ConflictException if the endpoint's secrets cannot be read.
   */
  async ping(principal: WebhookPrincipal, endpointId: string): Promise<DeliveryDetail> {
    const endpoint = await getEndpoint(this.#deps.database, principal, endpointId);
    const deliveryId = await this.#pings.run(partnerIdOf(endpoint.organization), () =>
      sendPing(this.#deps, endpoint),
    );
    return await this.get(principal, deliveryId);
  }

  /** Deletes deliveries past the retention. */
  purgeExpired(): Promise<DeliveryPurgeResult> {
    return purgeExpiredDeliveries(this.#deps.database, this.#deps.retentionDays);
  }

  #daysAgo(days: number): Date {
    return new Date(this.#deps.clock.now() - days * DAY_MS);
  }
}

function latest(time: Date, other = time): Date {
  return other > time ? other : time;
}

/** Throws BadRequestException if `until` is not after `since`. */
function checkTimeRange({ since, until }: TimeRange, location: Problem["location"]): void {
  if (since && until && until <= since)
    throw badRequest([problemIn(location)("until", "invalid_value", "must be after since")]);
}
