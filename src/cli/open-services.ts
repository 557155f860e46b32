/** What commands work with: from the settings to the database, its schema up to date, and the services on it. */
import { createAccessNotices, type KeepAccessAct } from "../accounts/access-notices.service.ts";
import { createSuspensionService, type SuspensionService } from "../accounts/suspension.service.ts";
import { createApiKeyService, type ApiKeyService } from "../api-keys/api-key.service.ts";
import { toConfig, type Config } from "../config/config.ts";
import { readEnv } from "../config/env.ts";
import { openEmbeddedPostgres, type EmbeddedPostgres } from "../embedded/postgres.ts";
import { openSecretBox } from "../embedded/secret.ts";
import { entities } from "../entities.ts";
import { createJobCodes, type JobCodes } from "../jobs/job.codes.ts";
import { createEventNotifier } from "../events/event.notifier.ts";
import { createMailService, type MailService } from "../mail/mail.service.ts";
import {
  createOrganizationService,
  type OrganizationService,
} from "../organizations/organization.service.ts";
import { systemClock } from "../platform/clock.ts";
import { openDatabase, type Database } from "../platform/database.ts";
import { migrateDatabase, type LockHolder } from "../platform/migrate.ts";
import { createNotifier } from "../platform/notifications.ts";
import { createPageAddress } from "../platform/page-address.ts";
import type { SecretBox } from "../platform/secret-box.ts";
import { admitting, WENT_ON } from "../restoration/admission.service.ts";
import { admitSecret, holdsSealed } from "../restoration/secret.service.ts";
import type { Webhooks } from "../webhooks/webhooks.service.ts";
import { DELIVERIES_CHANNEL } from "../webhooks/fan-out.service.ts";

export interface Services extends AsyncDisposable {
  readonly config: Config;
  readonly database: Database;
  readonly organizations: OrganizationService;
  readonly keys: ApiKeyService;
  readonly suspensions: SuspensionService;
  readonly codes: JobCodes;
  /** Tells running workers that there is something to deliver. */
  readonly announce: () => void;
  /** Tells who follows the jobs of these organisations (uuids) that some have changed. */
  readonly happened: (organizationIds: readonly string[]) => void;
  /** Mails, for a running server to send. Throws a StartupError where WAYMARK_SECRET is needed and missing or wrong. */
  readonly openMails: () => Promise<MailService>;
  /** Webhook endpoints and their deliveries. Throws a StartupError where WAYMARK_SECRET is needed and missing or wrong. */
  openWebhooks(): Promise<Webhooks>;
  /** The migrations that were applied just now. */
  readonly applied: readonly string[];
}

/** A command does one thing at a time. */
const POOL_SIZE = 2;

export interface OpenOptions {
  /** In place of what is asked of a database at each start, for the commands that mend just that. */
  readonly admit?: (database: LockHolder) => Promise<void>;
}

/** Opens DATABASE_URL, or the embedded PostgreSQL, which a server may be using meanwhile. */
export async function openServices({ admit }: OpenOptions = {}): Promise<Services> {
  const config = toConfig(readEnv());
  await using opened = new AsyncDisposableStack();
  const url = config.database.url ?? opened.use(await openEmbedded(config)).url;
  const afterwards = admit ?? admitting({ tell: () => say(WENT_ON) });
  const applied = await migrateDatabase({ url, poolSize: POOL_SIZE, entities }, { afterwards, onWait: say });
  const database = opened.use(await openDatabase({ url, poolSize: POOL_SIZE, entities }));
  const announce = createNotifier(database, DELIVERIES_CHANNEL);
  const openMails = async (): Promise<MailService> => {
    const box = await admittedBox(config, database);
    return createMailService({ database, box, isDelivered: config.mail.smtp !== null });
  };
  const { pageUrl } = createPageAddress(config.http.publicUrl, config.http);
  const enqueue: MailService["enqueue"] = async (on, mail) => (await openMails()).enqueue(on, mail);
  const keepAct = createAccessNotices({ mails: { enqueue }, pageUrl });
  const held = opened.move();
  return {
    config,
    database,
    organizations: createOrganizationService({ database }),
    keys: createApiKeyService({ database, clock: systemClock, keepAct }),
    suspensions: createSuspensionService({ database, clock: systemClock, announce }),
    codes: createJobCodes(database),
    announce,
    happened: createEventNotifier(database),
    openMails,
    openWebhooks: () => webhooksOf(config, { database, announce, keepAct }),
    applied,
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

async function webhooksOf(
  config: Config,
  { database, ...parts }: Pick<Services, "database" | "announce"> & { keepAct: KeepAccessAct },
): Promise<Webhooks> {
  const box = await admittedBox(config, database);
  // Loaded only here: most commands send nothing.
  const { openWebhooks } = await import("../webhooks/webhooks.service.ts");
  const { retentionDays } = config;
  const clock = systemClock;
  return await openWebhooks({ database, box, ...parts, clock, ...config.webhooks, retentionDays });
}

/** What is sealed with it can be read by the servers on this database. */
async function admittedBox(config: Config, database: Database): Promise<SecretBox> {
  const box = await openSecretBox(config, () => holdsSealed(database));
  await admitSecret(database, box);
  return box;
}

function openEmbedded({ dataDir }: Config): Promise<EmbeddedPostgres> {
  return openEmbeddedPostgres({ dataDir, exclusive: false, onProgress: say });
}

function say(sentence: string): void {
  process.stderr.write(`${sentence}\n`);
}
