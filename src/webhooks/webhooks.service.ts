/** Creates the webhook services: endpoints, deliveries, and the sender for test events and workers. */
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
  /** Wakes the workers. */
  notifyWorkers: () => void;
  /** If absent, owners get no mail about failing endpoints. */
  alertNotifier?: AlertNotifier | undefined;
  /** If absent, changes to endpoints are not recorded in the audit log. */
  recordAccessChange?: RecordAccessChange | undefined;
  clock: Clock;
  /** Allow http URLs, loopback and private networks. */
  allowPrivate: boolean;
  retentionDays: number;
  /** Rate at which replays of one organisation may create deliveries. Default: `defaultReplayRate`. */
  replayRate?: TokenRate | undefined;
  /** Documentation URL in the user agent of webhooks; null for none. */
  docsUrl: string | null;
  /** Logs the exact reason for a rejected host name; owners of endpoints get a general message. */
  logger?: Logger | undefined;
  tracing?: Tracing | undefined;
}

/** Concurrent URL checks per organisation and process. An unresponsive DNS server takes 4 s. */
const MAX_URL_CHECKS = 5;

/** Disposing closes the connections to receivers. */
export interface Webhooks extends AsyncDisposable {
  readonly endpoints: EndpointService;
  readonly deliveries: DeliveryService;
  readonly sender: Sender;
}

/** Also creates missing partitions, because finishing a delivery moves its row into one. */
export async function openWebhooks(deps: WebhooksDeps): Promise<Webhooks> {
  await ensurePartitions(deps.database, await databaseNowMs(deps.database), deps.retentionDays);
  const guard = createAddressGuard({
    allowPrivate: deps.allowPrivate,
    onDnsError: (host, { reason, addresses }) =>
      deps.logger?.info({ host, reason, addresses }, "rejected the host name of a webhook endpoint"),
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
