/** Signing in, and everything that comes before it. */
import { createRoute, lazyRouteComponent, redirect } from "@tanstack/react-router";
import { nextSearch } from "../app/next.ts";
import { publicRoute } from "./root.route.tsx";

const signIn = createRoute({
  getParentRoute: () => publicRoute,
  path: "sign-in",
  validateSearch: nextSearch,
  beforeLoad({ context, search }) {
    if (context.session.current()) throw redirect({ href: search.next ?? "/", replace: true });
  },
  component: lazyRouteComponent(() => import("../pages/account/sign-in.page.tsx"), "SignInPage"),
});

const requestAccount = createRoute({
  getParentRoute: () => publicRoute,
  path: "request-account",
  component: lazyRouteComponent(
    () => import("../pages/account/request-account.page.tsx"),
    "RequestAccountPage",
  ),
});

const answerQuestion = createRoute({
  getParentRoute: () => publicRoute,
  path: "account-request",
  component: lazyRouteComponent(
    () => import("../pages/account/answer-question.page.tsx"),
    "AnswerQuestionPage",
  ),
});

const register = createRoute({
  getParentRoute: () => publicRoute,
  path: "register",
  component: lazyRouteComponent(() => import("../pages/account/accept-link.page.tsx"), "RegisterPage"),
});

const invitation = createRoute({
  getParentRoute: () => publicRoute,
  path: "invitation",
  component: lazyRouteComponent(() => import("../pages/account/accept-link.page.tsx"), "InvitationPage"),
});

const forgottenPassword = createRoute({
  getParentRoute: () => publicRoute,
  path: "forgotten-password",
  component: lazyRouteComponent(
    () => import("../pages/account/forgotten-password.page.tsx"),
    "ForgottenPasswordPage",
  ),
});

const resetPassword = createRoute({
  getParentRoute: () => publicRoute,
  path: "reset-password",
  component: lazyRouteComponent(
    () => import("../pages/account/reset-password.page.tsx"),
    "ResetPasswordPage",
  ),
});

export const accountRoutes = [
  signIn,
  requestAccount,
  answerQuestion,
  register,
  invitation,
  forgottenPassword,
  resetPassword,
];
