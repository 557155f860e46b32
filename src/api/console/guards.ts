/** Middlewares of the routes for signed-in users: same-origin check, body and session. */
import type { Request, RequestHandler, Response } from "express";
import type { ClientInfo, SessionPrincipal, SessionVerifier } from "../../accounts/api.ts";
import { AppError, invariant } from "../../core/errors.ts";
import { supportsSecureCookies } from "../../core/same-origin.ts";
import { authorize } from "../../operations/admit.ts";
import type { ReadAccess } from "../../operations/operation.ts";
import { readJson } from "../json.ts";
import { contextOf } from "../context.ts";

const MAX_BODY_BYTES = 16_384;

export type SessionGuards = ReturnType<typeof createSessionGuards>;

export function createSessionGuards(sessions: SessionVerifier) {
  /** For changes: allows only requests of the console's pages. */
  const sameOrigin: RequestHandler = (request, _response, next) => {
    sessions.requireSameOrigin(request.headers);
    next();
  };
  const signedIn = requireSession((headers, ipAddress) => sessions.verify(headers, ipAddress));
  /** For the user's own account. Also allows users who must still set up two-factor authentication. */
  const ownAccount = requireSession((headers, ipAddress) =>
    sessions.verifyAllowingNoTwoFactor(headers, ipAddress),
  );
  const body = readJson(MAX_BODY_BYTES);
  return {
    sameOrigin,
    sameOriginForm: [sameOrigin, body],
    signedIn,
    ownAccount,
    /** The body last, so that it is only read for authenticated requests. */
    ownAccountForm: [sameOrigin, ownAccount, body],
  };
}

/** Rejects browsers that would not store the session cookie, with an explanation. */
export const requireSecureCookies: RequestHandler = (request, _response, next) => {
  if (!supportsSecureCookies(request.headers))
    throw new AppError(
      "ForbiddenException",
      "Sign-in needs https (except on http://localhost), because browsers don't store the session cookie over plain http. Open this page with https.",
    );
  next();
};

/** For routes behind `signedIn`. */
export function requireAccess(access: ReadAccess): RequestHandler {
  return (_request, response, next) => {
    authorize(access, sessionOf(response));
    next();
  };
}

function requireSession(verify: SessionVerifier["verify"]): RequestHandler {
  return async (request, response, next) => {
    contextOf(response).principal = await verify(request.headers, request.ip ?? "");
    next();
  };
}

/** Returns the principal of a route behind `signedIn` or `ownAccount`; throws in other routes. */
export function sessionOf(response: Response): SessionPrincipal {
  const { principal } = contextOf(response);
  invariant(principal && principal.keyId === null, "the route is behind signedIn or ownAccount");
  return principal;
}

export function clientInfoOf(request: Request, response: Response): ClientInfo {
  return {
    cookie: request.headers.cookie,
    ipAddress: request.ip ?? "",
    userAgent: request.headers["user-agent"],
    requestId: contextOf(response).requestId,
  };
}
