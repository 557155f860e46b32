/** Composes the services behind REST, GraphQL, the console and the workers. */
import { createAccessChangeRecorder, MailService } from "../mail/api.ts";
import { openAccounts, SavedViewService } from "../accounts/api.ts";
import type { AppContext } from "./context.ts";
import { createDataServices } from "./data-services.ts";
import type { ReplicaReaders } from "./replicas.ts";
import { createEventService } from "../events/api.ts";
import { errorGuidePath } from "../guide/api.ts";
import { IdempotencyService } from "../idempotency/api.ts";
import {
  createNotify,
  NotificationService,
  NotificationWorker,
  WebhookPoster,
} from "../notifications/api.ts";
import { createNotifier } from "../core/postgres/notify.ts";
import { createPublicUrl } from "../core/public-url.ts";
import { openRequestLog } from "../request-log/api.ts";
import {
  countDeliveries,
  createAlertNotifier,
  createSecretReveal,
  DELIVERIES_CHANNEL,
  openWebhooks,
} from "../webhooks/api.ts";

interface ServiceOptions {
  replicas: Pick<ReplicaReaders, "connect">;
  /** Schedules the steps of test runs that are due at a time. */
  scheduleStep: (atMs: number) => void;
}

export type Services = Awaited<ReturnType<typeof openServices>>["services"];

/** Stop the HTTP server before disposing, which writes buffered data and closes the connections to webhook receivers. */
export async function openServices(context: AppContext, { replicas, scheduleStep }: ServiceOptions) {
  const { config, database, clock, secretBox, logger } = context;
  const { twoFactorPolicy, retentionDays } = config;
  const { publicUrl } = config.http;
  await using opened = new AsyncDisposableStack();
  const requests = opened.use(await openRequestLog({ ...context, retentionDays }));
  const flushRequestLog = () => requests.flush();
  const notifyWorkers = createNotifier(database, DELIVERIES_CHANNEL);
  const mails = new MailService({ database, secretBox, isSmtpConfigured: config.mail.smtp !== null });
  const { pageUrl, setListenUrl } = createPublicUrl(publicUrl, config.http);
  const errorUrl = (code: string): string => pageUrl(errorGuidePath(code));
  const notify = createNotify({ mails, pageUrl });
  const alertNotifier = createAlertNotifier({ notify, logger, pageUrl });
  const recordAccessChange = createAccessChangeRecorder({ mails, pageUrl });
  const deps = { ...context, retentionDays, notifyWorkers, recordAccessChange, mails, pageUrl, scheduleStep };
  const webhooks = opened.use(await openWebhooks({ ...deps, ...config.webhooks, alertNotifier }));
  const poster = opened.use(new WebhookPoster({ ...config.webhooks, secretBox }));
  const { accounts, membership } = opened.use(
    openAccounts({ ...deps, publicUrl, twoFactorPolicy, ssoSettings: config.sso }),
  );
  const createReader = await replicas.connect();
  const data = createDataServices({ ...deps, flushRequestLog }, (principal) =>
    createReader(database, principal),
  );
  const services = {
    ...data,
    ...webhooks,
    ...membership,
    clock,
    events: createEventService({ database, clock }),
    idempotency: new IdempotencyService({ database }),
    mails,
    pageUrl,
    errorUrl,
    requests,
    accounts,
    secrets: createSecretReveal({ database, endpoints: webhooks.endpoints, passwords: accounts.passwords }),
    views: new SavedViewService({ database }),
    notifications: new NotificationService({ ...deps, poster }),
    notificationWorker: new NotificationWorker({
      ...deps,
      ...data,
      notify,
      poster,
      countDeliveries: (organizationId, since) => countDeliveries(database, organizationId, since),
    }),
  };
  const resources = opened.move();
  return { services, alertNotifier, setListenUrl, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}
