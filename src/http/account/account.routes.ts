/** Everything below `/auth`: a person's way in, and what they do with their own account. */
import { Router } from "express";
import type { AccountService } from "../../accounts/account.service.ts";
import type { PeopleServices } from "../../accounts/people.service.ts";
import { accountRequestRoutes } from "./account-requests.routes.ts";
import { createAccountGate } from "./account.gate.ts";
import { linkRoutes } from "./links.routes.ts";
import { passwordRoutes } from "./password.routes.ts";
import { profileRoutes } from "./profile.routes.ts";
import { sessionRoutes } from "./sessions.routes.ts";
import { signInRoutes } from "./sign-in.routes.ts";
import { twoFactorRoutes } from "./two-factor.routes.ts";

export interface AccountServices extends Pick<PeopleServices, "accountRequests" | "registrations"> {
  accounts: AccountService;
}

export function accountRoutes({ accounts, accountRequests, registrations }: AccountServices): Router {
  const gate = createAccountGate(accounts.sessions);
  const router = Router({ caseSensitive: true });
  for (const routes of [signInRoutes, sessionRoutes, passwordRoutes, twoFactorRoutes, profileRoutes])
    router.use(routes({ accounts, gate }));
  router.use(accountRequestRoutes({ accountRequests, gate }));
  router.use(linkRoutes({ registrations, gate }));
  return router;
}
