/** All routes below `/auth`: sign-in, account requests, links in e-mails, and the user's own account. */
import { Router, type Request, type RequestHandler } from "express";
import { z } from "zod";
import {
  accountEmail,
  type AccountServices,
  type ClientInfo,
  type MembershipServices,
  parseOrThrow,
  scopesOf,
  type SessionPrincipal,
  userNameField,
  type UserSession,
} from "../../accounts/api.ts";
import { AppError } from "../../core/errors.ts";
import { toTypedId } from "../../core/ids.ts";
import { addRoute, type RouteHandlers } from "../add-route.ts";
import type { JsonObject } from "../../core/json.ts";
import { toRequestHandler } from "../json.ts";
import { libraryRoutes } from "./auth-library.routes.ts";
import { clientInfoOf, createSessionGuards, type SessionGuards, sessionOf } from "./guards.ts";

export interface AccountRouteServices extends Pick<MembershipServices, "accountRequests" | "registrations"> {
  accounts: AccountServices;
}

interface AuthCall {
  readonly body: () => JsonObject;
  readonly client: ClientInfo;
  /** Throws on routes without a guard for the session. */
  readonly principal: () => SessionPrincipal;
  /** The path parameter `id`. */
  readonly id: string;
}

/** Adds a route below `/auth`, with the handlers of each HTTP method. */
type AddRoute = (path: string, handlers: RouteHandlers) => void;

export function accountRoutes(services: AccountRouteServices): Router {
  const guards = createSessionGuards(services.accounts.sessionVerifier);
  const router = Router({ caseSensitive: true });
  const add: AddRoute = (path, handlers) => addRoute(router, path, handlers);
  router.use(libraryRoutes(services.accounts, guards));
  addOwnAccountRoutes(add, services.accounts, guards);
  addPublicForms(add, services, guards);
  return router;
}

/** Sends the result of `run`, by default an empty object. */
function handle(run: (call: AuthCall) => Promise<unknown>, status?: 200 | 202): RequestHandler {
  return toRequestHandler(async (request, response) => {
    const data = await run({
      body: () => request.body as JsonObject,
      client: clientInfoOf(request, response),
      principal: () => sessionOf(response),
      id: String(request.params["id"]),
    });
    return { data: data ?? {} };
  }, status);
}

/** Its length is limited by the body. Rules for new passwords are checked where a password is set. */
const secretText = z.string({ error: "must be a string" }).min(1, { error: "must not be empty" });
const changeBody = z.object({ current_password: secretText, new_password: secretText });
const profileBody = z.object({ name: userNameField });

function addOwnAccountRoutes(
  add: AddRoute,
  { hasPasskeys, passwords, sessions, users }: AccountServices,
  { sameOrigin, signedIn, ownAccount, ownAccountForm }: SessionGuards,
): void {
  const readSession = handle(({ principal }) => toSessionWire({ hasPasskeys }, principal()));
  const list = handle(async ({ principal }) => {
    const { sessionId } = principal();
    return (await sessions.list(principal())).map((session) => toListedSession(session, sessionId));
  });
  const revokeOthers = handle(async ({ principal, client }) => ({
    ended: await sessions.revokeOthers(principal(), client),
  }));
  const changePassword = handle(({ principal, body, client }) => {
    const { current_password: current, new_password: next } = parseOrThrow(changeBody, body());
    return passwords.changePassword(principal(), { current, next }, client);
  });
  const changeProfile = handle(async ({ principal, body, client }) => {
    const { name } = parseOrThrow(profileBody, body());
    await users.rename(principal(), name, client);
    return { name };
  });
  const revoke = handle(({ principal, id, client }) => sessions.revoke(principal(), id, client));
  const turnOnTestMode = handle(({ principal }) => sessions.turnOnTestMode(principal()));

  add("/session", { get: [ownAccount, readSession] });
  add("/sessions", { get: [ownAccount, list], delete: [sameOrigin, ownAccount, revokeOthers] });
  add("/sessions/:id", { delete: [sameOrigin, ownAccount, revoke] });
  add("/password/change", { post: [...ownAccountForm, changePassword] });
  add("/profile", { patch: [...ownAccountForm, changeProfile] });
  add("/test-mode", { post: [sameOrigin, signedIn, turnOnTestMode] });
}

const forgottenBody = z.object({ email: accountEmail });
const resetBody = z.object({ token: secretText, password: secretText });

/** Responses don't reveal whether an e-mail address is known: results are e-mailed. */
function addPublicForms(
  add: AddRoute,
  { accounts: { passwords, sso }, accountRequests, registrations }: AccountRouteServices,
  { sameOriginForm }: SessionGuards,
): void {
  const post = (path: string, run: (call: AuthCall) => Promise<unknown>, status?: 200 | 202): void =>
    add(path, { post: [...sameOriginForm, handle(run, status)] });

  add("/sign-in-methods", { get: [handle(async () => ({ single_sign_on: await sso.offered() }))] });
  post(
    "/password/forgotten",
    ({ body, client }) => passwords.forgotPassword(parseOrThrow(forgottenBody, body()).email, client),
    202,
  );
  post("/password/reset", ({ body, client }) =>
    passwords.resetPassword(parseOrThrow(resetBody, body()), client),
  );
  post("/account-requests", ({ body, client }) => accountRequests.submit(body(), client), 202);
  post("/account-requests/answer", ({ body, client }) => accountRequests.answer(body(), client));
  post("/links/accept", ({ body, client }) => registrations.accept(body(), client));
  post("/links/check", async ({ body, client }) => {
    const link = await registrations.check(body(), client);
    const { kind, email, question, expiresAt: expires_at } = link;
    const names = { organization_name: link.organizationName, single_sign_on: link.singleSignOn };
    return { kind, email, ...names, question, expires_at };
  });
}

/** Returns the session of a page's request, as `/auth/session` does; null without a valid one. Throws ForbiddenException. */
export async function readPageSession(
  accounts: Pick<AccountServices, "hasPasskeys" | "sessionVerifier">,
  { headers, ip = "" }: Request,
) {
  try {
    const principal = await accounts.sessionVerifier.verifyAllowingNoTwoFactor(headers, ip);
    return await toSessionWire(accounts, principal);
  } catch (error) {
    if (error instanceof AppError && error.status === 401) return null;
    throw error;
  }
}

async function toSessionWire(
  { hasPasskeys }: Pick<AccountServices, "hasPasskeys">,
  principal: SessionPrincipal,
) {
  const { user, scopes, sessionId, sessionExpiresAt } = principal;
  const {
    organizationId,
    organizationName: name,
    organizationType: type,
    timeZone = "UTC",
    viewed,
  } = principal;
  return {
    user: {
      id: toTypedId("usr", user.id),
      name: user.name,
      email: user.email,
      role: user.role,
      has_passkeys: await hasPasskeys(principal),
      has_two_factor: user.hasTwoFactor,
      requires_two_factor: user.requiresTwoFactor,
      by_sso: user.bySso,
    },
    organization:
      organizationId === null
        ? null
        : {
            ...toOrganizationWire({ id: organizationId, name, type, timeZone }),
            can_import_jobs: principal.canImportJobs === true,
          },
    viewed: viewed && { ...toOrganizationWire(viewed), can_import_jobs: false },
    scopes,
    test_scopes: organizationId === null ? [] : scopesOf(user.role, "test"),
    session_id: sessionId,
    expires_at: sessionExpiresAt.toISOString(),
  };
}

function toOrganizationWire({ id, name, type, timeZone }: NonNullable<SessionPrincipal["viewed"]>) {
  return { id: toTypedId("org", id), name, type, time_zone: timeZone };
}

function toListedSession(session: UserSession, currentId: string) {
  return {
    id: session.id,
    current: session.id === currentId,
    created_at: session.createdAt,
    last_seen_at: session.lastSeenAt,
    ip_address: session.ipAddress,
    user_agent: session.userAgent,
    expires_at: session.expiresAt,
  };
}
