/** Routes to sign in and out, and to read the current session. */
import { Router, type Request, type Response } from "express";
import { z } from "zod";
import {
  type AccountService,
  parseOrThrow,
  type SessionPrincipal,
  type SignInResult,
} from "../../accounts/api.ts";
import { toTypedId } from "../../platform/ids.ts";
import { toRequestHandler, type RouteResult } from "../route-result.ts";
import { tagRoute } from "../context.ts";
import { objectBody } from "../body.ts";
import { methodNotAllowed } from "../error-handler.ts";
import { codeKind, codeText, secretText } from "./schemas.ts";
import { sessionOf, setCookies, clientInfoOf, type SessionGuards } from "./guards.ts";

const credentialsBody = z.object({ email: secretText, password: secretText });
const codeBody = z.object({
  code: codeText,
  kind: codeKind,
});
const reauthenticationBody = z.object({
  password: secretText,
  code: codeText.optional(),
  kind: codeKind.default("totp"),
});

export interface AccountRouteDeps {
  accounts: AccountService;
  guards: SessionGuards;
}

export function signInRoutes({ accounts, guards }: AccountRouteDeps): Router {
  const signIn = async (request: Request, response: Response): Promise<RouteResult> =>
    signInResult(
      response,
      await accounts.signIn(
        parseOrThrow(credentialsBody, objectBody(request)),
        clientInfoOf(request, response),
      ),
    );

  const confirmTwoFactor = async (request: Request, response: Response): Promise<RouteResult> =>
    signInResult(
      response,
      await accounts.confirmSignIn(
        parseOrThrow(codeBody, objectBody(request)),
        clientInfoOf(request, response),
      ),
    );

  const reauthenticate = async (request: Request, response: Response): Promise<RouteResult> => {
    const proof = parseOrThrow(reauthenticationBody, objectBody(request));
    await accounts.reauthenticate(sessionOf(response), proof, clientInfoOf(request, response));
    return { data: {} };
  };

  const signOut = async (request: Request, response: Response): Promise<RouteResult> => {
    setCookies(response, await accounts.signOut(sessionOf(response), clientInfoOf(request, response)));
    return { data: {} };
  };

  const router = Router({ caseSensitive: true });
  router
    .route("/sign-in")
    .all(tagRoute("/auth/sign-in"))
    .post(guards.sameOriginForm, guards.secureCookies, toRequestHandler(signIn))
    .all(methodNotAllowed("POST"));
  router
    .route("/two-factor")
    .all(tagRoute("/auth/two-factor"))
    .post(guards.sameOriginForm, toRequestHandler(confirmTwoFactor))
    .all(methodNotAllowed("POST"));
  router
    .route("/reauthenticate")
    .all(tagRoute("/auth/reauthenticate"))
    .post(guards.ownAccountForm, toRequestHandler(reauthenticate))
    .all(methodNotAllowed("POST"));
  router
    .route("/sign-out")
    .all(tagRoute("/auth/sign-out"))
    .post(guards.sameOrigin, guards.ownAccount, toRequestHandler(signOut))
    .all(methodNotAllowed("POST"));
  router
    .route("/session")
    .all(tagRoute("/auth/session"))
    .get(guards.ownAccount, toRequestHandler(session))
    .all(methodNotAllowed("GET, HEAD"));
  return router;
}

function session(_request: Request, response: Response): Promise<RouteResult> {
  return Promise.resolve({ data: toSessionWire(sessionOf(response)) });
}

function signInResult(response: Response, { cookies, twoFactorRequired }: SignInResult): RouteResult {
  setCookies(response, cookies);
  return { data: { two_factor_required: twoFactorRequired } };
}

function toSessionWire(principal: SessionPrincipal) {
  const { user, scopes, sessionId, sessionExpiresAt } = principal;
  return {
    user: {
      id: toTypedId("usr", user.id),
      name: user.name,
      email: user.email,
      role: user.role,
      has_two_factor: user.hasTwoFactor,
      requires_two_factor: user.requiresTwoFactor,
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
    session_id: sessionId,
    expires_at: sessionExpiresAt.toISOString(),
  };
}
