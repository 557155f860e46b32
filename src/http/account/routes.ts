/** All routes below `/auth`: sign-in, account requests, and the user's own account. */
import { Router } from "express";
import type { AccountService, MembershipServices } from "../../accounts/api.ts";
import { accountRequestRoutes } from "./account-requests.routes.ts";
import { createSessionGuards } from "./guards.ts";
import { linkRoutes } from "./links.routes.ts";
import { passwordRoutes } from "./password.routes.ts";
import { profileRoutes } from "./profile.routes.ts";
import { sessionRoutes } from "./sessions.routes.ts";
import { signInRoutes } from "./sign-in.routes.ts";
import { twoFactorRoutes } from "./two-factor.routes.ts";

export interface AccountServices extends Pick<MembershipServices, "accountRequests" | "registrations"> {
  accounts: AccountService;
}

export function accountRoutes({ accounts, accountRequests, registrations }: AccountServices): Router {
  const guards = createSessionGuards(accounts.sessions);
  const router = Router({ caseSensitive: true });
  for (const routes of [signInRoutes, sessionRoutes, passwordRoutes, twoFactorRoutes, profileRoutes])
    router.use(routes({ accounts, guards }));
  router.use(accountRequestRoutes({ accountRequests, guards }));
  router.use(linkRoutes({ registrations, guards }));
  return router;
}
