/** The webhooks put together: their endpoints, their deliveries, and the sender that both the test event and a worker use. */
import type { RecordAccessChange } from "../mail/api.ts";
import { createAddressGuard, type UrlVerdict } from "../platform/http-client/address-guard.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/postgres/database.ts";
import { databaseNowMs } from "../platform/postgres/clock.ts";
import { InFlightLimit } from "../platform/concurrency/in-flight-limit.ts";
import type { Logger } from "../platform/logger.ts";
import { createHttpClient } from "../platform/http-client/client.ts";
import type { SecretBox } from "../platform/secret-box.ts";
import type { TokenRate } from "../platform/concurrency/token-bucket.ts";
import type { Tracing } from "../platform/tracing/tracing.ts";
import { createDeliveryService, type DeliveryService } from "./deliveries/service.ts";
import { createEndpointService, type EndpointService } from "./endpoints/service.ts";
import type { AlertNotifier } from "./endpoints/alerts.ts";
import { ensurePartitions } from "./deliveries/partitions.ts";
import { createSender, type Sender } from "./dispatcher/sender.ts";

export interface WebhooksDeps {
  database: Database;
  secretBox: SecretBox;
  /** Tells workers that there may be something to deliver. */
  notifyWorkers: () => void;
  /** Absent: nobody is told of endpoints in trouble. */
  alertNotifier?: AlertNotifier | undefined;
  /** Absent: changes of endpoints are not recorded. */
  recordAccessChange?: RecordAccessChange | undefined;
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
export async function openWebhooks(deps: WebhooksDeps): Promise<Webhooks> {
  await ensurePartitions(deps.database, await databaseNowMs(deps.database), deps.retentionDays);
  const guard = createAddressGuard({
    allowPrivate: deps.allowPrivate,
    onDnsError: (host, { reason, addresses }) =>
      deps.logger?.info({ host, reason, addresses }, "refused the host name of a webhook endpoint"),
  });
  const http = createHttpClient({ guard });
  const { clock, docsUrl, tracing } = deps;
  const sender = createSender({ http, clock, docsUrl, tracing });
  const urlChecks = new InFlightLimit({ max: MAX_URL_CHECKS, noun: "URL checks", retryAfterS: 5 });
  const checkUrl = (organizationId: string, url: string): Promise<UrlVerdict> =>
    urlChecks.run(organizationId, () => guard.checkUrl(url));
  return {
    endpoints: createEndpointService({ ...deps, checkUrl }),
    deliveries: createDeliveryService({ ...deps, sender }),
    sender,
    [Symbol.asyncDispose]: () => http[Symbol.asyncDispose](),
  };
}
