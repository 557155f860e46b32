/** The log of deliveries: read, replayed, tried out with a test event, and cut off where it is old. */
import type { Clock } from "../platform/clock.ts";
import type { Database, Queryable } from "../platform/database.ts";
import { AppError } from "../platform/errors.ts";
import { InFlightLimit } from "../platform/in-flight.ts";
import type { SecretBox } from "../platform/secret-box.ts";
import type { TokenRate } from "../platform/token-bucket.ts";
import type { Caller } from "./caller.ts";
import {
  getDelivery,
  listDeliveries,
  type DeliveryPage,
  type DeliveryWithAttempts,
  type PageRequest,
} from "./delivery.queries.ts";
import { replayFailed, replayMissing, replayOne } from "./delivery.replay.ts";
import { sendTestEvent } from "./delivery.test-event.ts";
import type { DeliveryView } from "./delivery.view.ts";
import { getEndpoint } from "./endpoint.queries.ts";
import { ReplayLimit } from "./replay-limit.ts";
import { retire, type Retired } from "./retention.ts";
import type { Sender } from "./sender.ts";

/** `id`, `endpointId`: typed. What is another organisation's is answered as what is not there: NotFoundException. */
export interface DeliveryService {
  /** As far back as the log goes, newest first. `database`: where to read, if not on the service's own. */
  list(caller: Caller, page: PageRequest, database?: Queryable): Promise<DeliveryPage>;
  get(caller: Caller, id: string): Promise<DeliveryWithAttempts>;
  /** Sends the event again, as another delivery; one that still waits is discarded for it. */
  replay(caller: Caller, id: string): Promise<DeliveryView>;
  /** Sends again what has died since then, unless it was sent again already. */
  replayFailed(caller: Caller, endpointId: string, since: Date): Promise<{ replayed: number }>;
  /** Sends the events since then (at most as long ago as the log goes) that the endpoint never had a delivery of. */
  replayMissing(caller: Caller, endpointId: string, since?: Date): Promise<{ replayed: number }>;
  /** Sends a test event and waits for the answer, whatever the endpoint's status is. */
  sendTest(caller: Caller, endpointId: string): Promise<DeliveryWithAttempts>;
  /** Drops what is older than the retention. */
  retire(): Promise<Retired>;
}

export interface DeliveryParts {
  database: Database;
  box: Pick<SecretBox, "open">;
  sender: Sender;
  /** Tells workers that there is something to deliver. */
  announce: () => void;
  clock: Clock;
  retentionDays: number;
  /** Deliveries that replays of one organisation may create, if not `replayRate`. */
  replayRate?: TokenRate | undefined;
}

const FEED_DAYS = 30;
/** Test events of one organisation in flight in this process. */
const MAX_TEST_EVENTS = 5;
const MAX_PAGE = 200;

export function createDeliveryService(parts: DeliveryParts): DeliveryService {
  const { database, retentionDays } = parts;
  const testEvents = new InFlightLimit({ most: MAX_TEST_EVENTS, what: "test events", retryAfterS: 5 });
  const replays = new ReplayLimit(parts.clock, parts.replayRate);
  return {
    list(caller, page, on = database) {
      if (!(Number.isInteger(page.limit) && page.limit >= 1 && page.limit <= MAX_PAGE))
        throw new AppError("BadRequestException", `A page holds 1 to ${MAX_PAGE} deliveries`);
      return listDeliveries({ ...parts, database: on }, caller, page);
    },
    get: (caller, id) => getDelivery(parts, caller, id),
    async replay(caller, id) {
      const made = await replayOne(parts, caller, id);
      return (await getDelivery(parts, caller, made)).delivery;
    },
    async replayFailed(caller, endpointId, since) {
      const { row } = await getEndpoint(parts, caller, endpointId);
      const request = { endpointId: row.id, since: checkedSince(parts, since) };
      const replayed = await replays.run(row.organization_id, (take) =>
        replayFailed({ ...parts, take }, request),
      );
      return { replayed };
    },
    async replayMissing(caller, endpointId, since) {
      const { row } = await getEndpoint(parts, caller, endpointId);
      const request = {
        endpointId: row.id,
        organizationId: row.organization_id,
        organizationType: row.organization_type,
        eventTypes: row.event_types,

        since: checkedSince(parts, since ?? new Date(0)),
      };
      const replayed = await replays.run(row.organization_id, (take) =>
        replayMissing({ ...parts, take }, request),
      );
      return { replayed };
    },
    async sendTest(caller, endpointId) {
      return await getDelivery(
        parts,
        caller,
        await sendTestEvent({ ...parts, testEvents }, caller, endpointId),
      );
    },
    retire: () => retire(database, retentionDays),
  };
}

/** Not before the log begins: what it has dropped is no longer known to have been delivered. */
function checkedSince({ clock, retentionDays }: DeliveryParts, since: Date): Date {
  if (Number.isNaN(since.getTime()))
    throw new AppError("BadRequestException", "The time since which to replay is none");
  const oldestMs = clock.now() - Math.min(FEED_DAYS, retentionDays) * 86_400_000;
  return new Date(Math.max(since.getTime(), oldestMs));
}
