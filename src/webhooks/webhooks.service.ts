/** The webhooks put together: their endpoints, their deliveries, and the sender that both the test event and a worker use. */
import type { KeepAccessAct } from "../accounts/access-notices.service.ts";
import { createAddressGuard, type UrlVerdict } from "../platform/address-guard.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/database.ts";
import { databaseNowMs } from "../platform/database-time.ts";
import { InFlightLimit } from "../platform/in-flight.ts";
import type { Logger } from "../platform/logger.ts";
import { createOutgoingHttp } from "../platform/outgoing-http.ts";
import type { SecretBox } from "../platform/secret-box.ts";
import type { TokenRate } from "../platform/token-bucket.ts";
import type { Tracing } from "../platform/tracing.ts";
import { createDeliveryService, type DeliveryService } from "./delivery.service.ts";
import { createEndpointService, type EndpointService } from "./endpoint.service.ts";
import type { TellOfTrouble } from "./endpoint.trouble.ts";
import { ensurePartitions } from "./partitions.ts";
import { createSender, type Sender } from "./sender.ts";

export interface WebhooksParts {
  database: Database;
  box: SecretBox;
  /** Tells workers that there may be something to deliver. */
  announce: () => void;
  /** Absent: nobody is told of endpoints in trouble. */
  tellOfTrouble?: TellOfTrouble | undefined;
  /** Absent: changes of endpoints are not recorded. */
  keepAct?: KeepAccessAct | undefined;
  clock: Clock;
  /** Also http, loopback and private networks. */
  allowPrivate: boolean;
  retentionDays: number;
  /** Deliveries that replays of one organisation may create, if not the default. */
  replayRate?: TokenRate | undefined;
  /** Where a receiver's operator reads what it is that calls; null: nowhere. */
  docsUrl: string | null;
  /** Receives the exact reason why a host name was refused; owners of endpoints see one reason for all. */
  logger?: Logger | undefined;
  tracing?: Tracing | undefined;
}

/** URLs of one organisation whose names are being resolved in this process: a dead name server takes 4 s. */
const MAX_URL_CHECKS = 5;

/** Disposing closes the connections to receivers. */
export interface Webhooks extends AsyncDisposable {
  readonly endpoints: EndpointService;
  readonly deliveries: DeliveryService;
  readonly sender: Sender;
}

/** Also makes the weeks of the log that are missing, in which whatever ends finds its place. */
export async function openWebhooks(parts: WebhooksParts): Promise<Webhooks> {
  await ensurePartitions(parts.database, await databaseNowMs(parts.database), parts.retentionDays);
  const guard = createAddressGuard({
    allowPrivate: parts.allowPrivate,
    onRefusedName: (host, { reason, addresses }) =>
      parts.logger?.info({ host, reason, addresses }, "refused the host name of a webhook endpoint"),
  });
  const http = createOutgoingHttp({ guard });
  const { clock, docsUrl, tracing } = parts;
  const sender = createSender({ http, clock, docsUrl, tracing });
  const urlChecks = new InFlightLimit({ most: MAX_URL_CHECKS, what: "URL checks", retryAfterS: 5 });
  const checkUrl = (organizationId: string, url: string): Promise<UrlVerdict> =>
    urlChecks.run(organizationId, () => guard.checkUrl(url));
  return {
    endpoints: createEndpointService({ ...parts, checkUrl }),
    deliveries: createDeliveryService({ ...parts, sender }),
    sender,
    [Symbol.asyncDispose]: () => http[Symbol.asyncDispose](),
  };
}
