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

export type AccountServices = ReturnType<typeof createAccountServices>;
export type MembershipServices = ReturnType<typeof createMembershipServices>;

/** Disposing waits for background work, such as mails of answered requests. */
export function openAccounts(deps: AccountDeps) {
  const context = createContext(deps);
  return {
    accounts: createAccountServices(context),
    membership: createMembershipServices(context),
    async [Symbol.asyncDispose]() {
      await context.backgroundQueue[Symbol.asyncDispose]();
      await context.sso[Symbol.asyncDispose]();
    },
  };
}

function createContext(deps: AccountDeps): AccountContext {
  const { database, logger } = deps;
  const metrics = createAuthMetrics(deps.registry);
  const hasher = createPasswordHasher(() => metrics.passwordHashes.inc());
  const authSecret = deriveAuthSecret(deps.secretBox);
  return {
    ...deps,
    metrics,
    hasher,
    authSecret,
    backgroundQueue: createBackgroundQueue(logger),
    sso: new SsoService(deps),
    // Always the shared store: password guesses must count across processes.
    throttle: new Throttle(createPostgresStore(database)),
  };
}

function createAccountServices(context: AccountContext) {
  const passwords = new PasswordService(context);
  const auth = createBetterAuth(context);
  return {
    users: new UserService(context),
    /** Answers the routes of better-auth. */
    handleAuth: (call: AuthCall) => handleAuthRequest({ ...context, auth }, call),
    hasPasskeys: ({ user }: SessionPrincipal) => hasPasskeys(context.database, user.id),
    passwords,
    sso: context.sso,
    sessions: new SessionService(context),
    sessionVerifier: new SessionVerifier(context),
    /** Also used for other attempts that must be limited. */
    throttle: context.throttle,
  };
}

function createMembershipServices(context: AccountContext) {
  return {
    accountRequests: new AccountRequestService(context),
    reviews: new ReviewService(context),
    registrations: new RegistrationService(context),
    invitations: new InvitationService(context),
    members: new MemberService(context),
    sso: context.sso,
    organizationChanges: new OrganizationChanges(context),
  };
}
