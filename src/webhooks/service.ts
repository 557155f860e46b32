/** Creates the webhook services: endpoints, deliveries, and the sender for test events and workers. */
import { AddressGuard, type UrlVerdict } from "../core/http-client/address-guard.ts";
import type { Database } from "../core/postgres/database.ts";
import { databaseNowMs } from "../core/postgres/clock.ts";
import { InFlightLimit } from "../core/concurrency/in-flight-limit.ts";
import type { Logger } from "../core/logger.ts";
import { HttpClient } from "../core/http-client/client.ts";
import type { SecretBox } from "../core/secret-box.ts";
import { DeliveryService, type DeliveryServiceDeps } from "./deliveries/service.ts";
import { EndpointService, type EndpointServiceDeps } from "./endpoints/service.ts";
import { ensurePartitions } from "./deliveries/weekly-partitions.sql.ts";
import { Sender } from "./dispatcher/sign-and-send.ts";

export interface WebhooksDeps
  extends Omit<EndpointServiceDeps, "checkUrl">, Omit<DeliveryServiceDeps, "sender"> {
  database: Database;
  secretBox: SecretBox;
  notifyWorkers: (endpointIds?: readonly string[]) => void;
  /** Allow http URLs, loopback and private networks. */
  allowPrivate: boolean;
  /** Documentation URL in the user agent of webhooks; null for none. */
  docsUrl: string | null;
  /** Logs the exact reason for a rejected host name; owners of endpoints get a general message. */
  logger?: Logger | undefined;
}

/** Concurrent URL checks per partner and process. An unresponsive DNS server takes 4 s. */
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
  const guard = new AddressGuard({
    allowPrivate: deps.allowPrivate,
    onDnsError: (host, { reason, addresses }) =>
      deps.logger?.info({ host, reason, addresses }, "rejected the host name of a webhook endpoint"),
  });
  const http = new HttpClient({ guard });
  const { clock, docsUrl } = deps;
  const sender = new Sender({ http, clock, docsUrl });
  const urlChecks = new InFlightLimit({ max: MAX_URL_CHECKS, noun: "URL checks", retryAfterS: 5 });
  const checkUrl = (partnerId: string, url: string): Promise<UrlVerdict> =>
    urlChecks.run(partnerId, () => guard.checkUrl(url));
  return {
    endpoints: new EndpointService({ ...deps, checkUrl }),
    deliveries: new DeliveryService({ ...deps, sender }),
    sender,
    [Symbol.asyncDispose]: () => http[Symbol.asyncDispose](),
  };
}
