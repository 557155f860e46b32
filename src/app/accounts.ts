/** The composition of accounts: signing in, and whatever else people do with accounts. */
import type { Registry } from "prom-client";
import type { MailService, RecordAccessChange } from "../mail/api.ts";
import {
  type AccountService,
  createAccountService,
  createEmailTokenService,
  createMembershipServices,
  type MembershipServices,
} from "../accounts/api.ts";
import { createPostgresStore } from "../rate-limits/api.ts";
import type { Config } from "../config/config.ts";
import { createBackgroundQueue } from "../platform/concurrency/background-queue.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/postgres/database.ts";
import type { Logger } from "../platform/logger.ts";
import type { SecretBox } from "../platform/secret-box.ts";

export interface AccountsDeps {
  config: Config;
  database: Database;
  clock: Clock;
  secretBox: SecretBox;
  logger: Logger;
  registry: Registry;
  mails: Pick<MailService, "enqueue">;
  /** Absent: keys that are revoked with a member are not recorded. */
  recordAccessChange?: RecordAccessChange | undefined;
  /** Tells workers that there may be something to deliver. */
  notifyWorkers: () => void;
  /** An address of the console, such as `https://api.example.com/sign-in`, for mails. */
  pageUrl: (path: string) => string;
}

export interface AccountsModule extends AsyncDisposable {
  readonly accounts: AccountService;
  readonly membership: MembershipServices;
}

/** Disposing does what was put off until after its answer. */
export function openAccounts({ config, database, logger, ...deps }: AccountsDeps): AccountsModule {
  const backgroundQueue = createBackgroundQueue(logger);
  const emailTokens = createEmailTokenService({ database, clock: deps.clock });
  const accounts = createAccountService({
    ...deps,
    database,
    logger,
    emailTokens,
    // Always the shared one: who tries passwords must not have a fresh bucket with each process.
    bucketStore: createPostgresStore(database),
    backgroundQueue,
    publicUrl: config.http.publicUrl,
    twoFactorPolicy: config.twoFactorPolicy,
  });
  const { throttle } = accounts;
  const membership = createMembershipServices({
    ...deps,
    database,
    emailTokens,
    throttle,
    users: accounts,
    backgroundQueue,
  });
  return { accounts, membership, [Symbol.asyncDispose]: () => backgroundQueue[Symbol.asyncDispose]() };
}
