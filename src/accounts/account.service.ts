/** Composes the services for signing in and for managing one's account: profile, password, sessions, two-factor. */
import type { Registry } from "prom-client";
import type { BackgroundQueue } from "../platform/concurrency/background-queue.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/postgres/database.ts";
import type { MailService } from "../mail/api.ts";
import type { Logger } from "../platform/logger.ts";
import type { SecretBox } from "../platform/secret-box.ts";
import { createAuthMetrics } from "./auth/metrics.ts";
import { deriveAuthSecret } from "./auth/secret.ts";
import { createSignInService, type SignInService } from "./auth/sign-in.service.ts";
import { createBetterAuth } from "./auth/better-auth.ts";
import { createKnownBrowsers } from "./auth/known-browser.ts";
import type { EmailTokenService } from "./email-token.service.ts";
import { createPasswordHasher } from "./passwords/hasher.ts";
import { createPasswordService, type PasswordService } from "./passwords/service.ts";
import {
  createReauthenticationService,
  type ReauthenticationService,
} from "./auth/reauthentication.service.ts";
import { createSessionService, type SessionService } from "./sessions/service.ts";
import type { TwoFactorPolicy } from "./sessions/principal.ts";
import { createSessionVerifier, type SessionVerifier } from "./sessions/verifier.ts";
import { createThrottle, type TokenBucketStore, type Throttle } from "./auth/throttle.ts";
import { createRecoveryCodes } from "./two-factor/recovery-codes.ts";
import { createTwoFactorDiagnostics } from "./two-factor/diagnostics.ts";
import { createTwoFactorService, type TwoFactorService } from "./two-factor/service.ts";
import { createProfileService, type ProfileService } from "./user.profile.ts";
import { createUserService, type UserService } from "./user.service.ts";

export interface AccountService
  extends SignInService, UserService, ProfileService, PasswordService, ReauthenticationService {
  readonly sessions: SessionVerifier & SessionService;
  readonly twoFactor: TwoFactorService;
  /** Also used for other attempts that must be limited. */
  readonly throttle: Throttle;
}

export interface AccountDeps {
  database: Database;
  clock: Clock;
  secretBox: SecretBox;
  /** Shared by all processes. */
  bucketStore: TokenBucketStore;
  backgroundQueue: BackgroundQueue;
  emailTokens: EmailTokenService;
  mails: Pick<MailService, "enqueue">;
  /** Returns the URL of a console page, such as `https://api.example.com/sign-in`. */
  pageUrl: (path: string) => string;
  logger: Logger;
  registry: Registry;
  /** Null: the host that each request names. */
  publicUrl: string | null;
  twoFactorPolicy: TwoFactorPolicy;
}

export function createAccountService(deps: AccountDeps): AccountService {
  const metrics = createAuthMetrics(deps.registry);
  const hasher = createPasswordHasher(() => metrics.passwordHashes.inc());
  const throttle = createThrottle(deps.bucketStore);
  const secret = deriveAuthSecret(deps.secretBox);
  const auth = createBetterAuth({ pgPool: deps.database.asPgPool(), secret, hasher });
  const users = createUserService({ hasher });
  const twoFactorDiagnostics = createTwoFactorDiagnostics({ ...deps, auth });
  const recoveryCodes = createRecoveryCodes({ ...deps, auth, hasher });
  const knownBrowsers = createKnownBrowsers(deps);
  const serviceDeps = {
    ...deps,
    knownBrowsers,
    metrics,
    hasher,
    throttle,
    secret,
    auth,
    users,
    twoFactorDiagnostics,
    recoveryCodes,
  };
  const passwords = createPasswordService(serviceDeps);
  return {
    throttle,
    ...users,
    ...createProfileService(serviceDeps),
    ...createSignInService(serviceDeps),
    ...passwords,
    ...createReauthenticationService(serviceDeps, passwords),
    sessions: { ...createSessionVerifier(serviceDeps), ...createSessionService(serviceDeps) },
    twoFactor: createTwoFactorService(serviceDeps),
  };
}
