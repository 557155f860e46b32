/** Routes for signing in, registering and resetting passwords. */
import { createRoute, redirect } from "@tanstack/react-router";
import { lazyPage } from "../app/lazy-page.ts";
import { needsTwoFactor } from "../app/session/access.ts";
import { parseReturnTo, parseSignInSearch, type ReturnToSearch } from "../app/session/return-to.ts";
import { publicRoute } from "./root.route.tsx";
import { AGENDA_DASHBOARD_PATH, serverUrl } from "../app/api/server-url.ts";
import type { Session } from "../app/session/session.ts";

const signIn = createRoute({
  getParentRoute: () => publicRoute,
  path: "sign-in",
  validateSearch: parseSignInSearch,
  beforeLoad({ context, search }) {
    const session = context.session.current();
    if (session) redirectAfterSignIn(session, search);
  },
  component: lazyPage(() => import("../pages/account/sign-in.page.tsx"), "SignInPage"),
});

/** For signed-in users who must turn on two-factor authentication first. */
const twoFactorRequired = createRoute({
  getParentRoute: () => publicRoute,
  path: "two-factor-required",
  validateSearch: parseReturnTo,
  beforeLoad({ context, search }) {
    const session = context.session.current();
    if (!session) throw redirect({ to: "/sign-in", search, replace: true });
    if (!needsTwoFactor(session)) redirectAfterSignIn(session, search);
  },
  component: lazyPage(
    () => import("../pages/security/two-factor-required.page.tsx"),
    "TwoFactorRequiredPage",
  ),
});

const requestAccount = createRoute({
  getParentRoute: () => publicRoute,
  path: "request-account",
  component: lazyPage(() => import("../pages/account/request-account.page.tsx"), "RequestAccountPage"),
});

const answerQuestion = createRoute({
  getParentRoute: () => publicRoute,
  path: "account-request",
  component: lazyPage(() => import("../pages/account/answer-question.page.tsx"), "AnswerQuestionPage"),
});

const register = createRoute({
  getParentRoute: () => publicRoute,
  path: "register",
  component: lazyPage(() => import("../pages/account/create-account.page.tsx"), "RegisterPage"),
});

const invitation = createRoute({
  getParentRoute: () => publicRoute,
  path: "invitation",
  component: lazyPage(() => import("../pages/account/create-account.page.tsx"), "InvitationPage"),
});

const forgottenPassword = createRoute({
  getParentRoute: () => publicRoute,
  path: "forgotten-password",
  component: lazyPage(() => import("../pages/account/forgotten-password.page.tsx"), "ForgottenPasswordPage"),
});

const resetPassword = createRoute({
  getParentRoute: () => publicRoute,
  path: "reset-password",
  component: lazyPage(() => import("../pages/account/reset-password.page.tsx"), "ResetPasswordPage"),
});

export const accountRoutes = [
  signIn,
  twoFactorRequired,
  requestAccount,
  answerQuestion,
  register,
  invitation,
  forgottenPassword,
  resetPassword,
];

/** Redirects to the page that the user wanted to open. Throws the router's redirect. */
function redirectAfterSignIn(session: Session, search: ReturnToSearch): never {
  if (needsTwoFactor(session)) throw redirect({ to: "/two-factor-required", search, replace: true });
  const { next = "/" } = search;
  // Agenda's dashboard is rendered by the server, not by the router.
  if (next.startsWith(AGENDA_DASHBOARD_PATH))
    throw redirect({ href: serverUrl(next), reloadDocument: true, replace: true });
  throw redirect({ href: next, replace: true });
}
