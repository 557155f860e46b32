/** Reads and replays deliveries, sends test events and purges the log. */
import type { Clock } from "../../platform/clock.ts";
import type { Database, Queryable } from "../../platform/postgres/database.ts";
import { AppError } from "../../platform/errors.ts";
import { InFlightLimit } from "../../platform/concurrency/in-flight-limit.ts";
import type { SecretBox } from "../../platform/secret-box.ts";
import type { TokenRate } from "../../platform/concurrency/token-bucket.ts";
import type { WebhookPrincipal } from "../tenant-scope.ts";
import {
  getDelivery,
  listDeliveries,
  type DeliveryPage,
  type DeliveryWithAttempts,
  type DeliveryPageRequest,
} from "./queries.ts";
import { replayFailed, replayMissing, replayDelivery } from "./replay.ts";
import { sendTestEvent } from "./send-test-event.ts";
import type { DeliveryView } from "./view.ts";
import { getEndpoint } from "../endpoints/queries.ts";
import { ReplayLimit } from "./replay-limit.ts";
import { purgeExpiredDeliveries, type DeliveryPurgeResult } from "./retention.ts";
import type { Sender } from "../dispatcher/sender.ts";

/** Ids are typed. Throws NotFoundException for what does not exist or belongs to another organisation. */
export interface DeliveryService {
  /** Newest first, back to the retention. `database` overrides the service's own, for example with a replica. */
  list(principal: WebhookPrincipal, page: DeliveryPageRequest, database?: Queryable): Promise<DeliveryPage>;
  get(principal: WebhookPrincipal, id: string): Promise<DeliveryWithAttempts>;
  /** Creates another delivery of the same event. Discards the original if it is pending. */
  replay(principal: WebhookPrincipal, id: string): Promise<DeliveryView>;
  /** Replays the deliveries that failed since `since`, unless their event was replayed already. */
  replayFailed(principal: WebhookPrincipal, endpointId: string, since: Date): Promise<{ replayed: number }>;
  /** Delivers events since `since` that the endpoint never had a delivery of. Default: as far back as possible. */
  replayMissing(principal: WebhookPrincipal, endpointId: string, since?: Date): Promise<{ replayed: number }>;
  /** Sends a test event and waits for the response, at any status of the endpoint. */
  sendTest(principal: WebhookPrincipal, endpointId: string): Promise<DeliveryWithAttempts>;
  /** Deletes deliveries past the retention. */
  purgeExpired(): Promise<DeliveryPurgeResult>;
}

export interface DeliveryDeps {
  database: Database;
  secretBox: Pick<SecretBox, "open">;
  sender: Sender;
  /** Wakes the workers. */
  notifyWorkers: () => void;
  clock: Clock;
  retentionDays: number;
  /** Rate at which replays of one organisation may create deliveries. Default: `defaultReplayRate`. */
  replayRate?: TokenRate | undefined;
}

const FEED_DAYS = 30;
/** Test events in flight per organisation and process. */
const MAX_TEST_EVENTS = 5;
const MAX_PAGE_SIZE = 200;

export function createDeliveryService(deps: DeliveryDeps): DeliveryService {
  const { database, retentionDays } = deps;
  const testEventLimit = new InFlightLimit({ max: MAX_TEST_EVENTS, noun: "test events", retryAfterS: 5 });
  const replays = new ReplayLimit(deps.clock, deps.replayRate);
  return {
    list(principal, page, queryable = database) {
      if (!(Number.isInteger(page.limit) && page.limit >= 1 && page.limit <= MAX_PAGE_SIZE))
        throw new AppError("BadRequestException", `limit must be 1 to ${MAX_PAGE_SIZE}`);
      return listDeliveries({ ...deps, database: queryable }, principal, page);
    },
    get: (principal, id) => getDelivery(deps, principal, id),
    async replay(principal, id) {
      const replayId = await replayDelivery(deps, principal, id);
      return (await getDelivery(deps, principal, replayId)).delivery;
    },
    async replayFailed(principal, endpointId, since) {
      const { row } = await getEndpoint(deps, principal, endpointId);
      const request = { endpointId: row.id, since: clampSince(deps, since) };
      const replayed = await replays.run(row.organization_id, (reserve) =>
        replayFailed({ ...deps, reserve }, request),
      );
      return { replayed };
    },
    async replayMissing(principal, endpointId, since) {
      const { row } = await getEndpoint(deps, principal, endpointId);
      const request = {
        endpointId: row.id,
        organizationId: row.organization_id,
        organizationType: row.organization_type,
        eventTypes: row.event_types,
        since: clampSince(deps, since ?? new Date(0)),
      };
      const replayed = await replays.run(row.organization_id, (reserve) =>
        replayMissing({ ...deps, reserve }, request),
      );
      return { replayed };
    },
    async sendTest(principal, endpointId) {
      const deliveryId = await sendTestEvent({ ...deps, testEventLimit }, principal, endpointId);
      return await getDelivery(deps, principal, deliveryId);
    },
    purgeExpired: () => purgeExpiredDeliveries(database, retentionDays),
  };
}

/** Limits `since` to the log and the feed: before that, it is unknown what was delivered. */
function clampSince({ clock, retentionDays }: DeliveryDeps, since: Date): Date {
  if (Number.isNaN(since.getTime())) throw new AppError("BadRequestException", "`since` is not a valid time");
  const oldestMs = clock.now() - Math.min(FEED_DAYS, retentionDays) * 86_400_000;
  return new Date(Math.max(since.getTime(), oldestMs));
}
