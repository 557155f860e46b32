/** Opens the database for a command, migrates it and creates the services. */
import {
  createAccessChangeRecorder,
  createMailService,
  type MailService,
  type RecordAccessChange,
} from "../mail/api.ts";
import { createSuspensionService, type SuspensionService } from "../accounts/api.ts";
import { type ApiKeyService, createApiKeyService } from "../api-keys/api.ts";
import { toConfig, type Config } from "../config/config.ts";
import { readEnv } from "../config/env.ts";
import { openEmbeddedPostgres, type EmbeddedPostgres } from "../embedded/postgres/embedded-postgres.ts";
import { openSecretBox } from "../embedded/secret-key.ts";
import { entities } from "../app/entities.ts";
import { createJobReferenceData, type JobReferenceData } from "../jobs/api.ts";
import { createEventNotifier } from "../events/api.ts";
import { createOrganizationService, type OrganizationService } from "../organizations/api.ts";
import { systemClock } from "../platform/clock.ts";
import { openDatabase, type Database } from "../platform/postgres/database.ts";
import { migrateDatabase, type LockedConnection } from "../platform/postgres/migrate.ts";
import { createNotifier } from "../platform/postgres/notify.ts";
import { createPublicUrl } from "../platform/public-url.ts";
import type { SecretBox } from "../platform/secret-box.ts";
import { checkSecret, createStartupCheck, hasSealedData, RECOVERED_MESSAGE } from "../restore/api.ts";
import { DELIVERIES_CHANNEL, type Webhooks } from "../webhooks/api.ts";

export interface CliServices extends AsyncDisposable {
  readonly config: Config;
  readonly database: Database;
  readonly organizations: OrganizationService;
  readonly keys: ApiKeyService;
  readonly suspensions: SuspensionService;
  readonly referenceData: JobReferenceData;
  /** Wakes running workers, because there are new deliveries. */
  readonly notifyWorkers: () => void;
  /** Wakes GraphQL subscribers of these organisations (UUIDs), because their jobs changed. */
  readonly notifySubscribers: (organizationIds: readonly string[]) => void;
  /** Queues mails, which a running server sends. Throws StartupError if WAYMARK_SECRET is required and missing or wrong. */
  readonly openMails: () => Promise<MailService>;
  /** Webhook endpoints and deliveries. Throws StartupError if WAYMARK_SECRET is required and missing or wrong. */
  openWebhooks(): Promise<Webhooks>;
  /** Names of the migrations applied by this run. */
  readonly appliedMigrations: readonly string[];
}

/** Database connections; a command runs few queries in parallel. */
const POOL_SIZE = 2;

export interface CliServicesOptions {
  /** Replaces the startup check, for the commands that repair what it rejects. */
  readonly startupCheck?: (database: LockedConnection) => Promise<void>;
}

/** Opens DATABASE_URL, or the embedded PostgreSQL, which a running server may share. Throws StartupError. */
export async function createCliServices({ startupCheck }: CliServicesOptions = {}): Promise<CliServices> {
  const config = toConfig(readEnv());
  await using stack = new AsyncDisposableStack();
  const url = config.database.url ?? stack.use(await openSharedPostgres(config)).url;
  const afterMigrate =
    startupCheck ?? createStartupCheck({ onRecovered: () => printStatus(RECOVERED_MESSAGE) });
  const appliedMigrations = await migrateDatabase(
    { url, poolSize: POOL_SIZE, entities },
    { afterMigrate, onLockWait: printStatus },
  );
  const database = stack.use(await openDatabase({ url, poolSize: POOL_SIZE, entities }));
  const notifyWorkers = createNotifier(database, DELIVERIES_CHANNEL);
  const openMails = async (): Promise<MailService> => {
    const secretBox = await verifiedSecretBox(config, database);
    return createMailService({ database, secretBox, isSmtpConfigured: config.mail.smtp !== null });
  };
  const { pageUrl } = createPublicUrl(config.http.publicUrl, config.http);
  const enqueueMail: MailService["enqueue"] = async (on, mail) => (await openMails()).enqueue(on, mail);
  const recordAccessChange = createAccessChangeRecorder({ mails: { enqueue: enqueueMail }, pageUrl });
  const resources = stack.move();
  return {
    config,
    database,
    organizations: createOrganizationService({ database }),
    keys: createApiKeyService({ database, clock: systemClock, recordAccessChange }),
    suspensions: createSuspensionService({ database, clock: systemClock, notifyWorkers }),
    referenceData: createJobReferenceData(database),
    notifyWorkers,
    notifySubscribers: createEventNotifier(database),
    openMails,
    openWebhooks: () => openCliWebhooks(config, { database, notifyWorkers, recordAccessChange }),
    appliedMigrations,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

async function openCliWebhooks(
  config: Config,
  {
    database,
    ...deps
  }: Pick<CliServices, "database" | "notifyWorkers"> & { recordAccessChange: RecordAccessChange },
): Promise<Webhooks> {
  const secretBox = await verifiedSecretBox(config, database);
  // Imported here because most commands send no webhooks.
  const { openWebhooks } = await import("../webhooks/api.ts");
  const { retentionDays } = config;
  const clock = systemClock;
  return await openWebhooks({ database, secretBox, ...deps, clock, ...config.webhooks, retentionDays });
}

/** Opens the secret box and checks that servers on this database can decrypt what it seals. Throws StartupError. */
async function verifiedSecretBox(config: Config, database: Database): Promise<SecretBox> {
  const box = await openSecretBox(config, () => hasSealedData(database));
  await checkSecret(database, box);
  return box;
}

function openSharedPostgres({ dataDir }: Config): Promise<EmbeddedPostgres> {
  return openEmbeddedPostgres({ dataDir, exclusive: false, onProgress: printStatus });
}

function printStatus(sentence: string): void {
  process.stderr.write(`${sentence}\n`);
}
