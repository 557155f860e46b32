/** Composes the services behind REST, GraphQL, the console and the workers. */
import { createAccessChangeRecorder, createMailService, type RecordAccessChange } from "../mail/api.ts";
import { createSavedViewService } from "../accounts/api.ts";
import { createApiKeyService } from "../api-keys/api.ts";
import type { AppContext } from "./context.ts";
import { openAccounts } from "./accounts.ts";
import type { CreateReader, ReplicaReaders } from "./replicas.ts";
import { createEventNotifier, createEventService } from "../events/api.ts";
import {
  createImportService,
  createJobReferenceData,
  createJobService,
  createOperatorJobService,
} from "../jobs/api.ts";
import { createOrganizationService } from "../organizations/api.ts";
import { createNotifier } from "../platform/postgres/notify.ts";
import { createPublicUrl } from "../platform/public-url.ts";
import { openRequestLog } from "../request-log/api.ts";
import {
  createAlertNotifier,
  createSecretReveal,
  DELIVERIES_CHANNEL,
  openWebhooks,
} from "../webhooks/api.ts";

/** Stop the HTTP server before disposing, which writes buffered data and closes the connections to webhook receivers. */
export async function openServices(context: AppContext, replicas: Pick<ReplicaReaders, "connect">) {
  const { config, database, clock, secretBox, logger, tracing } = context;
  await using opened = new AsyncDisposableStack();
  const { retentionDays } = config;
  const requests = opened.use(await openRequestLog({ ...context, retentionDays }));
  const notifyWorkers = createNotifier(database, DELIVERIES_CHANNEL);
  const mails = createMailService({ database, secretBox, isSmtpConfigured: config.mail.smtp !== null });
  const { pageUrl, setListenUrl } = createPublicUrl(config.http.publicUrl, config.http);
  const alertNotifier = createAlertNotifier({ mails, logger, pageUrl });
  const recordAccessChange = createAccessChangeRecorder({ mails, pageUrl });
  const webhookDeps = {
    ...config.webhooks,
    recordAccessChange,
    database,
    secretBox,
    notifyWorkers,
    alertNotifier,
    clock,
    retentionDays,
  };
  const webhooks = opened.use(await openWebhooks({ ...webhookDeps, logger, tracing }));
  const { accounts, membership } = opened.use(
    openAccounts({ ...context, mails, recordAccessChange, notifyWorkers, pageUrl }),
  );
  const services = {
    ...createDataServices({
      database,
      clock,
      notifyWorkers,
      recordAccessChange,
      createReader: await replicas.connect(),
    }),
    ...webhooks,
    ...membership,
    mails,
    requests,
    accounts,
    secrets: createSecretReveal({ database, endpoints: webhooks.endpoints, passwords: accounts }),
  };
  const resources = opened.move();
  return { services, alertNotifier, setListenUrl, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

interface DataServiceDeps extends Pick<AppContext, "database" | "clock"> {
  notifyWorkers: () => void;
  recordAccessChange: RecordAccessChange;
  createReader: CreateReader;
}

function createDataServices({
  database,
  clock,
  notifyWorkers,
  recordAccessChange,
  createReader,
}: DataServiceDeps) {
  const referenceData = createJobReferenceData(database);
  const jobDeps = {
    database,
    referenceData,
    notifyWorkers,
    notifySubscribers: createEventNotifier(database),
  };
  const organizations = createOrganizationService({ database });
  return {
    clock,
    referenceData,
    jobs: createJobService({ ...jobDeps, readerFor: (principal) => createReader(database, principal) }),
    operations: createOperatorJobService(jobDeps),
    imports: createImportService({ ...jobDeps, organizations }),
    events: createEventService({ database, clock }),
    keys: createApiKeyService({ database, clock, recordAccessChange }),
    organizations,
    views: createSavedViewService({ database }),
  };
}
