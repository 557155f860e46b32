/** The composition of the services: what partners, people and operators can do, whichever door they come through. */
import type { Registry } from "prom-client";
import { createAccessNotices, type KeepAccessAct } from "./accounts/access-notices.service.ts";
import { createSavedViewService } from "./accounts/saved-view.service.ts";
import { createApiKeyService } from "./api-keys/api-key.service.ts";
import { openAccounts } from "./app.accounts.ts";
import type { ReadsFor, ReplicaReads } from "./app.replicas.ts";
import type { Config } from "./config/config.ts";
import { createEventNotifier } from "./events/event.notifier.ts";
import { createEventService } from "./events/event.service.ts";
import { createJobCodes } from "./jobs/job.codes.ts";
import { createImportService } from "./jobs/job.import.service.ts";
import { createJobOperations } from "./jobs/job.operations.ts";
import { createJobService } from "./jobs/job.service.ts";
import { createMailService } from "./mail/mail.service.ts";
import { createOrganizationService } from "./organizations/organization.service.ts";
import type { Clock } from "./platform/clock.ts";
import type { Database } from "./platform/database.ts";
import type { Logger } from "./platform/logger.ts";
import { createNotifier } from "./platform/notifications.ts";
import { createPageAddress } from "./platform/page-address.ts";
import type { SecretBox } from "./platform/secret-box.ts";
import type { Tracing } from "./platform/tracing.ts";
import { openRequestLog } from "./request-log/request-log.service.ts";
import { createSecretReveal } from "./webhooks/endpoint.reveal.ts";
import { DELIVERIES_CHANNEL } from "./webhooks/fan-out.service.ts";
import { createTroubleMails } from "./webhooks/trouble.mails.ts";
import { openWebhooks } from "./webhooks/webhooks.service.ts";

export interface ServiceParts {
  config: Config;
  database: Database;
  clock: Clock;
  box: SecretBox;
  logger: Logger;
  registry: Registry;
  replicas: Pick<ReplicaReads, "connect">;
  tracing?: Tracing | undefined;
}

/** Disposing writes what was put off, and closes the connections to receivers; the doors are shut before. */
export async function openServices(parts: ServiceParts) {
  const { config, database, clock, box, logger, tracing } = parts;
  await using opened = new AsyncDisposableStack();
  const { retentionDays } = config;
  const requests = opened.use(await openRequestLog({ ...parts, retentionDays }));
  const announce = createNotifier(database, DELIVERIES_CHANNEL);
  const mails = createMailService({ database, box, isDelivered: config.mail.smtp !== null });
  const { pageUrl, listensAt } = createPageAddress(config.http.publicUrl, config.http);
  const tellOfTrouble = createTroubleMails({ mails, logger, pageUrl });
  const keepAct = createAccessNotices({ mails, pageUrl });
  const webhookParts = {
    ...config.webhooks,
    keepAct,
    database,
    box,
    announce,
    tellOfTrouble,
    clock,
    retentionDays,
  };
  const webhooks = opened.use(await openWebhooks({ ...webhookParts, logger, tracing }));
  const { accounts, people } = opened.use(openAccounts({ ...parts, mails, keepAct, announce, pageUrl }));
  const services = {
    ...createDataServices({ database, clock, announce, keepAct, readsFor: await parts.replicas.connect() }),
    ...webhooks,
    ...people,
    mails,
    requests,
    accounts,
    secrets: createSecretReveal({ database, endpoints: webhooks.endpoints, passwords: accounts }),
  };
  const held = opened.move();
  return { services, tellOfTrouble, listensAt, [Symbol.asyncDispose]: () => held.disposeAsync() };
}

interface DataServiceParts {
  database: Database;
  clock: Clock;
  announce: () => void;
  keepAct: KeepAccessAct;
  readsFor: ReadsFor;
}

function createDataServices({ database, clock, announce, keepAct, readsFor }: DataServiceParts) {
  const codes = createJobCodes(database);
  const jobParts = { database, codes, announce, happened: createEventNotifier(database) };
  const organizations = createOrganizationService({ database });
  return {
    clock,
    codes,
    jobs: createJobService({ ...jobParts, readsOf: (viewer) => readsFor(database, viewer) }),
    operations: createJobOperations(jobParts),
    imports: createImportService({ ...jobParts, organizations }),
    events: createEventService({ database, clock }),
    keys: createApiKeyService({ database, clock, keepAct }),
    organizations,
    views: createSavedViewService({ database }),
  };
}
