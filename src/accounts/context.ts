/** The parts that the services of accounts share. */
import type { Registry } from "prom-client";
import type { MailService, RecordAccessChange } from "../mail/api.ts";
import type { Clock } from "../core/clock.ts";
import type { BackgroundQueue } from "../core/concurrency/background-queue.ts";
import type { Logger } from "../core/logger.ts";
import type { Database } from "../core/postgres/database.ts";
import type { SecretBox } from "../core/secret-box.ts";
import type { AuthMetrics } from "./auth/metrics.ts";
import type { Throttle } from "./auth/throttle.ts";
import type { PasswordHasher } from "./passwords/hasher.ts";
import type { TwoFactorPolicy } from "./sessions/session-principal.ts";
import type { ResolveTxt, SsoService, SsoSettings } from "./sso/service.ts";

/** What the app provides. */
export interface AccountDeps {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly secretBox: SecretBox;
  readonly mails: Pick<MailService, "enqueue">;
  /** Absent: keys revoked with a member get no audit entry and no mail. */
  readonly recordAccessChange?: RecordAccessChange | undefined;
  /** Wakes the delivery workers. */
  readonly notifyWorkers: () => void;
  /** Returns the URL of a console page, such as `https://api.example.com/sign-in`. */
  readonly pageUrl: (path: string) => string;
  /** Null: the host that each request names. */
  readonly publicUrl: string | null;
  readonly twoFactorPolicy: TwoFactorPolicy;
  readonly ssoSettings: SsoSettings;
  /** Of tests, in place of DNS. */
  readonly resolveTxt?: ResolveTxt | undefined;
}

export interface AccountContext extends AccountDeps {
  /** Signs the cookies. */
  readonly authSecret: string;
  /** For work that goes on after the response. */
  readonly backgroundQueue: BackgroundQueue;
  readonly hasher: PasswordHasher;
  readonly metrics: AuthMetrics;
  readonly sso: SsoService;
  readonly throttle: Throttle;
}
