/** Reads and replays deliveries, sends test events and purges the log. */
import { FEED_DAYS } from "../../events/api.ts";
import type { Clock } from "../../platform/clock.ts";
import { InFlightLimit } from "../../platform/concurrency/in-flight-limit.ts";
import type { TokenRate } from "../../platform/concurrency/token-bucket.ts";
import { AppError } from "../../platform/errors.ts";
import type { Queryable } from "../../platform/postgres/database.ts";
import { DAY_MS } from "../../platform/time.ts";
import { getEndpoint } from "../endpoints/find.ts";
import type { WebhookPrincipal } from "../webhook-principal.ts";
import {
  getDelivery,
  listDeliveries,
  type DeliveryPage,
  type DeliveryPageRequest,
  type DeliveryWithAttempts,
} from "./log-pages.sql.ts";
import { ReplayLimit } from "./replay-limit.ts";
import { replayDelivery, type ReplayDeps, replayFailed, replayMissing } from "./replay.sql.ts";
import { purgeExpiredDeliveries, type DeliveryPurgeResult } from "./retention.sql.ts";
import { sendTestEvent, type TestEventDeps } from "./test-event.ts";
import type { DeliveryView } from "./view.ts";

export interface DeliveryServiceDeps extends ReplayDeps, Omit<TestEventDeps, "database"> {
  clock: Clock;
  retentionDays: number;
  /** Rate at which replays of one organisation may create deliveries. Default: `defaultReplayRate`. */
  replayRate?: TokenRate | undefined;
}

/** Test events in flight per organisation and process, because a receiver can take 15 s to respond. */
const MAX_TEST_EVENTS = 5;
const MAX_PAGE_SIZE = 200;

/** Ids are typed. Throws NotFoundException for what does not exist or belongs to another organisation. */
export class DeliveryService {
  readonly #deps: DeliveryServiceDeps;
  readonly #testEvents = new InFlightLimit({ max: MAX_TEST_EVENTS, noun: "test events", retryAfterS: 5 });
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
    return await listDeliveries(database, principal, {
      ...page,
      since: this.#daysAgo(this.#deps.retentionDays),
    });
  }

  get(principal: WebhookPrincipal, id: string): Promise<DeliveryWithAttempts> {
    return getDelivery(this.#deps.database, principal, id);
  }

  /** Creates another delivery of the same event. Discards the original if it is pending. */
  async replay(principal: WebhookPrincipal, id: string): Promise<DeliveryView> {
    const replayId = await replayDelivery(this.#deps, principal, id);
    return (await this.get(principal, replayId)).delivery;
  }

  /** Replays the deliveries that failed since `since`, unless their event was replayed already. */
  async replayFailed(
    principal: WebhookPrincipal,
    endpointId: string,
    since: Date,
  ): Promise<{ replayed: number }> {
    const endpoint = await getEndpoint(this.#deps.database, principal, endpointId);
    const request = { endpointId: endpoint.id, since: this.#clampSince(since) };
    const replayed = await this.#replays.run(endpoint.organization.id, (reserve) =>
      replayFailed({ ...this.#deps, reserve }, request),
    );
    return { replayed };
  }

  /** Delivers events since `since` that the endpoint never had a delivery of. Default: as far back as possible. */
  async replayMissing(
    principal: WebhookPrincipal,
    endpointId: string,
    since = new Date(0),
  ): Promise<{ replayed: number }> {
    const {
      id,
      organization,
      eventTypes = null,
    } = await getEndpoint(this.#deps.database, principal, endpointId);
    const request = {
      endpointId: id,
      organizationId: organization.id,
      organizationType: organization.type,
      eventTypes,
      since: this.#clampSince(since),
    };
    const replayed = await this.#replays.run(organization.id, (reserve) =>
      replayMissing({ ...this.#deps, reserve }, request),
    );
    return { replayed };
  }

  /**
   * Sends a test event and waits for the response, at any status of the endpoint. Throws TooManyRequestsException if five test
   * events of the organisation are in flight, ConflictException if the endpoint's secrets cannot be read.
   */
  async sendTest(principal: WebhookPrincipal, endpointId: string): Promise<DeliveryWithAttempts> {
    const endpoint = await getEndpoint(this.#deps.database, principal, endpointId);
    const deliveryId = await this.#testEvents.run(endpoint.organization.id, () =>
      sendTestEvent(this.#deps, endpoint),
    );
    return await this.get(principal, deliveryId);
  }

  /** Deletes deliveries past the retention. */
  purgeExpired(): Promise<DeliveryPurgeResult> {
    return purgeExpiredDeliveries(this.#deps.database, this.#deps.retentionDays);
  }

  /** Limits `since` to the log and the feed: before that, it is unknown what was delivered. */
  #clampSince(since: Date): Date {
    if (Number.isNaN(since.getTime()))
      throw new AppError("BadRequestException", "`since` is not a valid time");
    const oldest = this.#daysAgo(Math.min(FEED_DAYS, this.#deps.retentionDays));
    return since > oldest ? since : oldest;
  }

  #daysAgo(days: number): Date {
    return new Date(this.#deps.clock.now() - days * DAY_MS);
  }
}
