/** Accounts: who somebody is, and what they do with their own account. Requests, members and the audit log stand beside it. */
import type { Registry } from "prom-client";
import type { Afterwards } from "../platform/afterwards.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/database.ts";
import type { MailService } from "../mail/mail.service.ts";
import type { Logger } from "../platform/logger.ts";
import type { SecretBox } from "../platform/secret-box.ts";
import { createAuthMetrics } from "./auth.metrics.ts";
import { signInSecret } from "./auth.secret.ts";
import { createSignIn, type SignIn } from "./auth.sign-in.ts";
import { createAuth } from "./auth.ts";
import { createKnownBrowsers } from "./known-browser.ts";
import type { LinkService } from "./link.service.ts";
import { createPasswordHasher } from "./password.hash.ts";
import { createPasswordService, type PasswordService } from "./password.service.ts";
import { createReauthentication, type Reauthentication } from "./reauthentication.service.ts";
import { createSessionService, type SessionService } from "./session.service.ts";
import type { SecondFactorRule } from "./session.holder.ts";
import { createSessionVerifier, type SessionVerifier } from "./session.verifier.ts";
import { createThrottle, type BucketStore, type Throttle } from "./throttle.ts";
import { createRecoveryCodes } from "./two-factor.recovery-codes.ts";
import { createSecondFactorSecrets } from "./two-factor.secrets.ts";
import { createTwoFactorService, type TwoFactorService } from "./two-factor.service.ts";
import { createProfile, type Profile } from "./user.profile.ts";
import { createUserService, type UserService } from "./user.service.ts";

export interface AccountService extends SignIn, UserService, Profile, PasswordService, Reauthentication {
  readonly sessions: SessionVerifier & SessionService;
  readonly twoFactor: TwoFactorService;
  /** For whatever else anybody may try. */
  readonly throttle: Throttle;
}

export interface AccountParts {
  database: Database;
  clock: Clock;
  box: SecretBox;
  /** Shared by all processes. */
  buckets: BucketStore;
  afterwards: Afterwards;
  links: LinkService;
  mails: Pick<MailService, "enqueue">;
  /** An address of the console, such as `https://api.example.com/sign-in`. */
  pageUrl: (path: string) => string;
  logger: Logger;
  registry: Registry;
  /** Null: the address that a request names. */
  publicUrl: string | null;
  secondFactorRule: SecondFactorRule;
}

export function createAccountService(given: AccountParts): AccountService {
  const metrics = createAuthMetrics(given.registry);
  const hasher = createPasswordHasher(() => metrics.passwordHashes.inc());
  const throttle = createThrottle(given.buckets);
  const secret = signInSecret(given.box);
  const auth = createAuth({ connections: given.database.lend(), secret, hasher });
  const users = createUserService({ hasher });
  const secondFactors = createSecondFactorSecrets({ ...given, auth });
  const recoveryCodes = createRecoveryCodes({ ...given, auth, hasher });
  const knownBrowsers = createKnownBrowsers(given);
  const parts = {
    ...given,
    knownBrowsers,
    metrics,
    hasher,
    throttle,
    secret,
    auth,
    users,
    secondFactors,
    recoveryCodes,
  };
  const passwords = createPasswordService(parts);
  return {
    throttle,
    ...users,
    ...createProfile(parts),
    ...createSignIn(parts),
    ...passwords,
    ...createReauthentication(parts, passwords),
    sessions: { ...createSessionVerifier(parts), ...createSessionService(parts) },
    twoFactor: createTwoFactorService(parts),
  };
}
