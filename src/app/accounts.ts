/** Composes the accounts module: sign-in, sessions, members and invitations. */
import type { MailService, RecordAccessChange } from "../mail/api.ts";
import {
  type AccountService,
  createAccountService,
  createEmailTokenService,
  createMembershipServices,
  type MembershipServices,
} from "../accounts/api.ts";
import { createPostgresStore } from "../rate-limits/api.ts";
import type { AppContext } from "./context.ts";
import { createBackgroundQueue } from "../platform/concurrency/background-queue.ts";

export interface AccountsDeps extends Pick<
  AppContext,
  "config" | "database" | "clock" | "secretBox" | "logger" | "registry"
> {
  mails: Pick<MailService, "enqueue">;
  /** If absent, the revocation of a removed member's keys is not recorded. */
  recordAccessChange?: RecordAccessChange | undefined;
  /** Wakes the delivery workers. */
  notifyWorkers: () => void;
  /** Returns the URL of a console page, such as `https://api.example.com/sign-in`, for mails. */
  pageUrl: (path: string) => string;
}

export interface AccountsModule extends AsyncDisposable {
  readonly accounts: AccountService;
  readonly membership: MembershipServices;
}

/** Disposing waits for background work, such as mails of answered requests. */
export function openAccounts({ config, database, logger, ...deps }: AccountsDeps): AccountsModule {
  const backgroundQueue = createBackgroundQueue(logger);
  const emailTokens = createEmailTokenService({ database, clock: deps.clock });
  const accounts = createAccountService({
    ...deps,
    database,
    logger,
    emailTokens,
    // Always the shared store: password guesses must count across processes.
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
