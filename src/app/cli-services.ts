/** Composes the services for one command: opens the database, migrates it and creates the services. */
import { inviteOperator, issueRecoveryLink, OrganizationChanges, resetTwoFactor } from "../accounts/api.ts";
import type { AuditContext } from "../audit/api.ts";
import { toConfig, type Config } from "../config/config.ts";
import { readEnv } from "../config/env.ts";
import { hasCluster } from "../dev/postgres/cluster.ts";
import { openEmbeddedPostgres } from "../dev/postgres/embedded-postgres.ts";
import { openSecretBox } from "../dev/secret-key.ts";
import { exportJobs, type JobExport } from "../jobs/api.ts";
import { createAccessChangeRecorder, MailService } from "../mail/api.ts";
import { systemClock as clock } from "../core/clock.ts";
import { openDatabase, type Database } from "../core/postgres/database.ts";
import { migrateDatabase, type LockedConnection } from "../core/postgres/migrate.ts";
import { createNotifier } from "../core/postgres/notify.ts";
import { systemPrincipal } from "../core/principal.ts";
import { StartupError } from "../core/errors.ts";
import { createPublicUrl } from "../core/public-url.ts";
import type { SecretBox } from "../core/secret-box.ts";
import {
  acceptSecret,
  checkDatabase,
  checkSecret,
  hasSealedData,
  RECOVERED_MESSAGE,
} from "../restore/api.ts";
import { DELIVERIES_CHANNEL, openWebhooks } from "../webhooks/api.ts";
import { createDataServices } from "./data-services.ts";
import { entities } from "./entities.ts";

export type CliServices = Awaited<ReturnType<typeof openCliServices>>;

export interface CliServicesOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly printStatus: (message: string) => void;
  /** Replaces the startup check, for the commands that repair what it rejects. */
  readonly startupCheck: ((database: LockedConnection) => Promise<void>) | undefined;
}

/** Database connections; a command runs few queries in parallel. */
const POOL_SIZE = 2;

/** Opens the DATABASE_URL of `env`, or the embedded PostgreSQL, which may be a running server's. Throws StartupError. */
export async function openCliServices({ env, printStatus, startupCheck }: CliServicesOptions) {
  const config = toConfig(readEnv(env));
  rejectForgottenUrl(config, { isRepair: startupCheck !== undefined });
  await using stack = new AsyncDisposableStack();
  const embeddedOptions = { dataDir: config.dataDir, exclusive: false, onProgress: printStatus };
  const url = config.database.url ?? stack.use(await openEmbeddedPostgres(embeddedOptions)).url;
  const onRecovered = (): void => printStatus(RECOVERED_MESSAGE);
  const afterMigrate =
    startupCheck ?? ((database: LockedConnection) => checkDatabase(database, { onRecovered }));
  const appliedMigrations = await migrateDatabase(
    { url, poolSize: POOL_SIZE, entities },
    { afterMigrate, onLockWait: printStatus },
  );
  const database = stack.use(await openDatabase({ url, poolSize: POOL_SIZE, entities }));
  const services = createServices(config, database);
  const resources = stack.move();
  return {
    ...services,
    config,
    /** Names of the migrations applied by this run. */
    appliedMigrations,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/**
 * Throws a StartupError if DATABASE_URL was probably forgotten: in production, or if a repair finds no embedded database. The
 * command would create an empty one and report success.
 */
function rejectForgottenUrl(
  { database, dataDir, environment }: Config,
  { isRepair }: { isRepair: boolean },
): void {
  if (database.url !== null) return;
  if (environment !== "production" && (!isRepair || hasCluster(dataDir))) return;
  throw new StartupError(
    `DATABASE_URL is not set; this would use the embedded database in ${dataDir}.`,
    "Run the command with the settings of the service (docs/operate/install.md, Run commands). For an embedded database, set " +
      "WAYMARK_DATA_DIR to its folder and leave NODE_ENV empty.",
  );
}

function createServices(config: Config, database: Database) {
  const notifyWorkers = createNotifier(database, DELIVERIES_CHANNEL);
  const { pageUrl } = createPublicUrl(config.http.publicUrl, config.http);
  const openMails = async (): Promise<MailService> => {
    const secretBox = await verifiedSecretBox(config, database);
    return new MailService({ database, secretBox, isSmtpConfigured: config.mail.smtp !== null });
  };
  const enqueueMail: MailService["enqueue"] = async (on, mail) => (await openMails()).enqueue(on, mail);
  const recordAccessChange = createAccessChangeRecorder({ mails: { enqueue: enqueueMail }, pageUrl });
  const deps = { database, clock, notifyWorkers, recordAccessChange };
  const services = createDataServices(deps);
  return {
    ...services,
    exportJobs: (query: Pick<JobExport, "filter" | "format">) =>
      exportJobs(database, systemPrincipal, { ...query, order: { field: "id", descending: false } }),
    organizationChanges: new OrganizationChanges(deps),
    inviteOperator: (context: AuditContext, email: string) =>
      inviteOperator({ database, clock, pageUrl }, context, email),
    issueRecoveryLink: (context: AuditContext, email: string) =>
      issueRecoveryLink({ database, clock, pageUrl }, context, email),
    /** Queues a mail to the user. Throws StartupError if WAYMARK_SECRET is required and missing or wrong. */
    resetTwoFactor: async (context: AuditContext, email: string) =>
      resetTwoFactor({ database, mails: await openMails(), pageUrl }, context, email),
    /** Creates a new `secret` file if the file of the lost secret is missing. */
    acceptSecret: async () =>
      acceptSecret(database, await openSecretBox(config, () => Promise.resolve(false))),
    /** Returns null if the database contains other organisations than the demo's. */
    ensureDemo: async () => {
      const { ensureDemo } = await import("../dev/demo/demo.ts");
      const { prepareDataFolder } = await import("../dev/data-folder.ts");
      await prepareDataFolder(config.dataDir);
      return await ensureDemo({ ...services, database, dataDir: config.dataDir });
    },
    /** Webhook endpoints and deliveries. Throws StartupError if WAYMARK_SECRET is required and missing or wrong. */
    openWebhooks: async () => {
      const secretBox = await verifiedSecretBox(config, database);
      return await openWebhooks({
        ...deps,
        ...config.webhooks,
        secretBox,
        retentionDays: config.retentionDays,
      });
    },
  };
}

/** Opens the secret box and checks that servers on this database can decrypt what it seals. Throws StartupError. */
async function verifiedSecretBox(config: Config, database: Database): Promise<SecretBox> {
  const box = await openSecretBox(config, () => hasSealedData(database));
  await checkSecret(database, box);
  return box;
}
