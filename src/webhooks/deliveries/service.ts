/** The log of deliveries: read, replayed, tried out with a test event, and cut off where it is old. */
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

/** `id`, `endpointId`: typed. What is another organisation's is answered as what is not there: NotFoundException. */
export interface DeliveryService {
  /** As far back as the log goes, newest first. `database`: where to read, if not on the service's own. */
  list(caller: WebhookPrincipal, page: DeliveryPageRequest, database?: Queryable): Promise<DeliveryPage>;
  get(caller: WebhookPrincipal, id: string): Promise<DeliveryWithAttempts>;
  /** Sends the event again, as another delivery; one that still waits is discarded for it. */
  replay(caller: WebhookPrincipal, id: string): Promise<DeliveryView>;
  /** Sends again what has died since then, unless it was sent again already. */
  replayFailed(caller: WebhookPrincipal, endpointId: string, since: Date): Promise<{ replayed: number }>;
  /** Sends the events since then (at most as long ago as the log goes) that the endpoint never had a delivery of. */
  replayMissing(caller: WebhookPrincipal, endpointId: string, since?: Date): Promise<{ replayed: number }>;
  /** Sends a test event and waits for the answer, whatever the endpoint's status is. */
  sendTest(caller: WebhookPrincipal, endpointId: string): Promise<DeliveryWithAttempts>;
  /** Drops what is older than the retention. */
  purgeExpired(): Promise<DeliveryPurgeResult>;
}

export interface DeliveryDeps {
  database: Database;
  secretBox: Pick<SecretBox, "open">;
  sender: Sender;
  /** Tells workers that there is something to deliver. */
  notifyWorkers: () => void;
  clock: Clock;
  retentionDays: number;
  /** Deliveries that replays of one organisation may create, if not `replayRate`. */
  replayRate?: TokenRate | undefined;
}

const FEED_DAYS = 30;
/** Test events of one organisation in flight in this process. */
const MAX_TEST_EVENTS = 5;
const MAX_PAGE_SIZE = 200;

export function createDeliveryService(deps: DeliveryDeps): DeliveryService {
  const { database, retentionDays } = deps;
  const testEventLimit = new InFlightLimit({ max: MAX_TEST_EVENTS, noun: "test events", retryAfterS: 5 });
  const replays = new ReplayLimit(deps.clock, deps.replayRate);
  return {
    list(principal, page, on = database) {
      if (!(Number.isInteger(page.limit) && page.limit >= 1 && page.limit <= MAX_PAGE_SIZE))
        throw new AppError("BadRequestException", `A page holds 1 to ${MAX_PAGE_SIZE} deliveries`);
      return listDeliveries({ ...deps, database: on }, principal, page);
    },
    get: (caller, id) => getDelivery(deps, caller, id),
    async replay(caller, id) {
      const replayId = await replayDelivery(deps, caller, id);
      return (await getDelivery(deps, caller, replayId)).delivery;
    },
    async replayFailed(caller, endpointId, since) {
      const { row } = await getEndpoint(deps, caller, endpointId);
      const request = { endpointId: row.id, since: clampSince(deps, since) };
      const replayed = await replays.run(row.organization_id, (reserve) =>
        replayFailed({ ...deps, reserve }, request),
      );
      return { replayed };
    },
    async replayMissing(caller, endpointId, since) {
      const { row } = await getEndpoint(deps, caller, endpointId);
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
    async sendTest(caller, endpointId) {
      return await getDelivery(
        deps,
        caller,
        await sendTestEvent({ ...deps, testEventLimit }, caller, endpointId),
      );
    },
    purgeExpired: () => purgeExpiredDeliveries(database, retentionDays),
  };
}

/** Not before the log begins: what it has dropped is no longer known to have been delivered. */
function clampSince({ clock, retentionDays }: DeliveryDeps, since: Date): Date {
  if (Number.isNaN(since.getTime()))
    throw new AppError("BadRequestException", "The time since which to replay is none");
  const oldestMs = clock.now() - Math.min(FEED_DAYS, retentionDays) * 86_400_000;
  return new Date(Math.max(since.getTime(), oldestMs));
}
