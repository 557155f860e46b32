/** Composes the services of users' own accounts, and those of membership in organisations. */
import { createBackgroundQueue } from "../core/concurrency/background-queue.ts";
import { createPostgresStore } from "../rate-limits/api.ts";
import { type AuthCall, handleAuthRequest } from "./auth/auth-request.ts";
import { createBetterAuth } from "./auth/better-auth.ts";
import { createAuthMetrics } from "./auth/metrics.ts";
import { deriveAuthSecret } from "./auth/secret.ts";
import { Throttle } from "./auth/throttle.ts";
import type { AccountContext, AccountDeps } from "./context.ts";
import { InvitationService } from "./invitations/service.ts";
import { RegistrationService } from "./members/registration.service.ts";
import { MemberService } from "./members/service.ts";
import { hasPasskeys } from "./passkeys/hooks.ts";
import { OrganizationChanges } from "./organization-changes.service.ts";
import { createPasswordHasher } from "./passwords/hasher.ts";
import { PasswordService } from "./passwords/service.ts";
import { ReviewService } from "./requests/review.service.ts";
import { AccountRequestService } from "./requests/service.ts";
import { SessionService } from "./sessions/service.ts";
import type { SessionPrincipal } from "./sessions/session-principal.ts";
import { SessionVerifier } from "./sessions/verifier.ts";
import { SsoService } from "./sso/service.ts";
import { UserService } from "./user.service.ts";

type Opened = ReturnType<typeof openAccounts>;
export type AccountServices = Opened["accounts"];
export type MembershipServices = Opened["membership"];

/** Disposing waits for background work, such as mails of answered requests. */
export function openAccounts(deps: AccountDeps) {
  const { database } = deps;
  const metrics = createAuthMetrics(deps.registry);
  const context: AccountContext = {
    ...deps,
    metrics,
    hasher: createPasswordHasher(() => metrics.passwordHashes.inc()),
    authSecret: deriveAuthSecret(deps.secretBox),
    backgroundQueue: createBackgroundQueue(deps.logger),
    sso: new SsoService(deps),
    // Always the shared store: password guesses must count across processes.
    throttle: new Throttle(createPostgresStore(database)),
  };
  const { backgroundQueue, sso, throttle } = context;
  const { handler } = createBetterAuth(context);
  return {
    accounts: {
      users: new UserService(context),
      /** Answers the routes of better-auth. */
      handleAuth: (call: AuthCall) => handleAuthRequest(context, handler, call),
      hasPasskeys: ({ user }: SessionPrincipal) => hasPasskeys(database, user.id),
      passwords: new PasswordService(context),
      sso,
      sessions: new SessionService(context),
      sessionVerifier: new SessionVerifier(context),
      /** Also used for other attempts that must be limited. */
      throttle,
    },
    membership: {
      accountRequests: new AccountRequestService(context),
      reviews: new ReviewService(context),
      registrations: new RegistrationService(context),
      invitations: new InvitationService(context),
      members: new MemberService(context),
      sso,
      organizationChanges: new OrganizationChanges(context),
    },
    async [Symbol.asyncDispose]() {
      await backgroundQueue[Symbol.asyncDispose]();
      await sso[Symbol.asyncDispose]();
    },
  };
}
