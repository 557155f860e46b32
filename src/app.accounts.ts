/** The composition of accounts: signing in, and whatever else people do with accounts. */
import type { Registry } from "prom-client";
import type { KeepAccessAct } from "./accounts/access-notices.service.ts";
import { createAccountService, type AccountService } from "./accounts/account.service.ts";
import { createLinkService } from "./accounts/link.service.ts";
import { createPeopleServices, type PeopleServices } from "./accounts/people.service.ts";
import { createPostgresStore } from "./api-keys/rate-limit.store.ts";
import type { Config } from "./config/config.ts";
import type { MailService } from "./mail/mail.service.ts";
import { createAfterwards } from "./platform/afterwards.ts";
import type { Clock } from "./platform/clock.ts";
import type { Database } from "./platform/database.ts";
import type { Logger } from "./platform/logger.ts";
import type { SecretBox } from "./platform/secret-box.ts";

export interface AccountsParts {
  config: Config;
  database: Database;
  clock: Clock;
  box: SecretBox;
  logger: Logger;
  registry: Registry;
  mails: Pick<MailService, "enqueue">;
  /** Absent: keys that are revoked with a member are not recorded. */
  keepAct?: KeepAccessAct | undefined;
  /** Tells workers that there may be something to deliver. */
  announce: () => void;
  /** An address of the console, such as `https://api.example.com/sign-in`, for mails. */
  pageUrl: (path: string) => string;
}

export interface AccountsPart extends AsyncDisposable {
  readonly accounts: AccountService;
  readonly people: PeopleServices;
}

/** Disposing does what was put off until after its answer. */
export function openAccounts({ config, database, logger, ...parts }: AccountsParts): AccountsPart {
  const afterwards = createAfterwards(logger);
  const links = createLinkService({ database, clock: parts.clock });
  const accounts = createAccountService({
    ...parts,
    database,
    logger,
    links,
    // Always the shared one: who tries passwords must not have a fresh bucket with each process.
    buckets: createPostgresStore(database),
    afterwards,
    publicUrl: config.http.publicUrl,
    secondFactorRule: config.secondFactorRule,
  });
  const { throttle } = accounts;
  const people = createPeopleServices({ ...parts, database, links, throttle, users: accounts, afterwards });
  return { accounts, people, [Symbol.asyncDispose]: () => afterwards[Symbol.asyncDispose]() };
}
