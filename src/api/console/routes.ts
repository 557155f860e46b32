/** All routes below `/auth`: sign-in, account requests, links in e-mails, and the user's own account. */
import { Router, type RequestHandler } from "express";
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
import { toTypedId } from "../../core/ids.ts";
import { addRoute, type RouteHandlers } from "../add-route.ts";
import type { JsonObject } from "../../core/json.ts";
import { objectBody, toRequestHandler } from "../json.ts";
import { libraryRoutes } from "./auth-library.routes.ts";
import { clientInfoOf, createSessionGuards, type SessionGuards, sessionOf } from "./guards.ts";

export interface AccountRouteServices extends Pick<MembershipServices, "accountRequests" | "registrations"> {
  accounts: AccountServices;
}

interface AccountRequest {
  readonly body: () => JsonObject;
  readonly client: ClientInfo;
  /** Throws on routes without a guard for the session. */
  readonly principal: () => SessionPrincipal;
  /** The path parameter `id`. */
  readonly id: string;
}

interface AccountResponse {
  readonly data: unknown;
  /** `Set-Cookie` texts. */
  readonly cookies?: readonly string[];
}

type Handler = (request: AccountRequest) => Promise<AccountResponse>;

/** Adds a route below `/auth`, with the handlers of each HTTP method. */
type AddRoute = (path: string, handlers: RouteHandlers) => void;

export function accountRoutes(services: AccountRouteServices): Router {
  const guards = createSessionGuards(services.accounts.sessionVerifier);
  const router = Router({ caseSensitive: true });
  const add: AddRoute = (path, handlers) =>
    addRoute(router, { path, name: `/auth${path.replace(":id", "{id}")}` }, handlers);
  router.use(libraryRoutes(services.accounts, guards));
  addSessionRoutes(add, services.accounts, guards);
  addOwnAccountRoutes(add, services.accounts, guards);
  addPublicForms(add, services, guards);
  return router;
}

function handle(handler: Handler, status?: 200 | 202): RequestHandler {
  return toRequestHandler(async (request, response) => {
    const { data, cookies = [] } = await handler({
      body: () => objectBody(request),
      client: clientInfoOf(request, response),
      principal: () => sessionOf(response),
      id: String(request.params["id"]),
    });
    for (const cookie of cookies) response.append("Set-Cookie", cookie);
    return { data };
  }, status);
}

/** Its length is limited by the body. Rules for new passwords are checked where a password is set. */
const secretText = z.string({ error: "must be a string" }).min(1, { error: "must not be empty" });

function addSessionRoutes(
  add: AddRoute,
  { hasPasskeys, sessions, sso }: AccountServices,
  guards: SessionGuards,
): void {
  const turnOnTestMode: Handler = async ({ principal }) => {
    await sessions.turnOnTestMode(principal());
    return { data: {} };
  };
  add("/sign-in-methods", { get: [handle(async () => ({ data: { single_sign_on: await sso.offered() } }))] });
  const readSession: Handler = async ({ principal }) => ({
    data: toSessionWire(principal(), await hasPasskeys(principal())),
  });
  add("/session", { get: [guards.ownAccount, handle(readSession)] });
  add("/test-mode", { post: [guards.sameOrigin, guards.signedIn, handle(turnOnTestMode)] });
}

const changeBody = z.object({ current_password: secretText, new_password: secretText });
const profileBody = z.object({ name: userNameField });

function addOwnAccountRoutes(add: AddRoute, accounts: AccountServices, guards: SessionGuards): void {
  const { sessions } = accounts;
  const list: Handler = async ({ principal }) => ({
    data: (await sessions.list(principal())).map((session) => toListedSession(session, principal())),
  });
  const revokeOthers: Handler = async ({ principal, client }) => ({
    data: { ended: await sessions.revokeOthers(principal(), client) },
  });
  const revoke: Handler = async ({ principal, id, client }) => {
    await sessions.revoke(principal(), id, client);
    return { data: {} };
  };
  const changePassword: Handler = async ({ principal, body, client }) => {
    const { current_password: current, new_password: next } = parseOrThrow(changeBody, body());
    await accounts.passwords.changePassword(principal(), { current, next }, client);
    return { data: {} };
  };
  const changeProfile: Handler = async ({ principal, body, client }) => {
    const { name } = parseOrThrow(profileBody, body());
    await accounts.users.rename(principal(), name, client);
    return { data: { name } };
  };

  add("/sessions", {
    get: [guards.ownAccount, handle(list)],
    delete: [guards.sameOrigin, guards.ownAccount, handle(revokeOthers)],
  });
  add("/sessions/:id", { delete: [guards.sameOrigin, guards.ownAccount, handle(revoke)] });
  add("/password/change", { post: [...guards.ownAccountForm, handle(changePassword)] });
  add("/profile", { patch: [...guards.ownAccountForm, handle(changeProfile)] });
}

const forgottenBody = z.object({ email: accountEmail });
const resetBody = z.object({ token: secretText, password: secretText });

/** Responses don't reveal whether an e-mail address is known: results are e-mailed. */
function addPublicForms(
  add: AddRoute,
  { accounts: { passwords }, accountRequests, registrations }: AccountRouteServices,
  { sameOriginForm }: SessionGuards,
): void {
  const post = (path: string, handler: Handler, status?: 200 | 202): void =>
    add(path, { post: [...sameOriginForm, handle(handler, status)] });
  const postForm = (
    path: string,
    submit: (request: AccountRequest) => Promise<unknown>,
    status?: 200 | 202,
  ): void => post(path, async (request) => (await submit(request), { data: {} }), status);

  postForm(
    "/password/forgotten",
    ({ body, client }) => passwords.forgotPassword(parseOrThrow(forgottenBody, body()).email, client),
    202,
  );
  postForm("/password/reset", ({ body, client }) =>
    passwords.resetPassword(parseOrThrow(resetBody, body()), client),
  );
  postForm("/account-requests", ({ body, client }) => accountRequests.submit(body(), client), 202);
  postForm("/account-requests/answer", ({ body, client }) => accountRequests.answer(body(), client));
  postForm("/links/accept", ({ body, client }) => registrations.accept(body(), client));
  post("/links/check", async ({ body, client }) => {
    const { kind, email, organizationName, question, expiresAt } = await registrations.check(body(), client);
    return { data: { kind, email, organization_name: organizationName, question, expires_at: expiresAt } };
  });
}

function toSessionWire(principal: SessionPrincipal, hasPasskeys: boolean) {
  const { user, scopes, sessionId, sessionExpiresAt } = principal;
  return {
    user: {
      id: toTypedId("usr", user.id),
      name: user.name,
      email: user.email,
      role: user.role,
      has_passkeys: hasPasskeys,
      has_two_factor: user.hasTwoFactor,
      requires_two_factor: user.requiresTwoFactor,
      by_sso: user.bySso,
    },
    organization:
      principal.organizationId === null
        ? null
        : {
            id: toTypedId("org", principal.organizationId),
            name: principal.organizationName,
            type: principal.organizationType,
          },
    scopes,
    test_scopes: principal.organizationId === null ? [] : scopesOf(user.role, "test"),
    session_id: sessionId,
    expires_at: sessionExpiresAt.toISOString(),
  };
}

function toListedSession(session: UserSession, { sessionId }: SessionPrincipal) {
  return {
    id: session.id,
    current: session.id === sessionId,
    created_at: session.createdAt,
    last_seen_at: session.lastSeenAt,
    ip_address: session.ipAddress ?? null,
    user_agent: session.userAgent ?? null,
    expires_at: session.expiresAt,
  };
}
