/** Middlewares of the routes for signed-in users: same-origin check, body and session. */
import type { Request, RequestHandler, Response } from "express";
import type { AuditSource } from "../../audit/api.ts";
import type { ClientInfo, SessionPrincipal, SessionVerifier } from "../../accounts/api.ts";
import { AppError, invariant } from "../../platform/errors.ts";
import { supportsSecureCookies } from "../../platform/same-origin.ts";
import { readJson } from "../body.ts";
import { contextOf } from "../context.ts";

export interface SessionGuards {
  /** For changes: allows only requests of the console's pages. */
  sameOrigin: RequestHandler;
  /** `sameOrigin` with a JSON body. */
  sameOriginForm: RequestHandler[];
  signedIn: RequestHandler;
  /** For the user's own account. Also allows users who must still set up two-factor authentication. */
  ownAccount: RequestHandler;
  /** Rejects browsers that would not store the session cookie, with an explanation. */
  secureCookies: RequestHandler;
  /** `ownAccount` with the same-origin check and a JSON body. */
  ownAccountForm: RequestHandler[];
}

const MAX_BODY_BYTES = 16_384;

export function createSessionGuards(sessions: SessionVerifier): SessionGuards {
  const sameOrigin: RequestHandler = (request, _response, next) => {
    sessions.requireSameOrigin(request.headers);
    next();
  };
  const ownAccount = requireSession((headers, address) =>
    sessions.verifyAllowingNoTwoFactor(headers, address),
  );
  const body = readJson(MAX_BODY_BYTES);
  return {
    sameOrigin,
    sameOriginForm: [sameOrigin, body],
    signedIn: requireSession((headers, address) => sessions.verify(headers, address)),
    ownAccount,
    secureCookies: (request, _response, next) => {
      if (!supportsSecureCookies(request.headers)) throw insecureCookies();
      next();
    },
    // The body last, so that it is only read for authenticated requests.
    ownAccountForm: [sameOrigin, ownAccount, body],
  };
}

/** Verifies the session and sets the principal of the request. */
function requireSession(verify: SessionVerifier["verify"]): RequestHandler {
  return async (request, response, next) => {
    contextOf(response).principal = await verify(request.headers, request.ip ?? "");
    next();
  };
}

function insecureCookies(): AppError {
  return new AppError(
    "ForbiddenException",
    "Sign-in needs https (except on http://localhost), because browsers don't store the session cookie over plain http. Open this page with https.",
  );
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
    address: request.ip ?? "",
    userAgent: request.headers["user-agent"],
    requestId: contextOf(response).requestId,
  };
}

/** Returns the IP address and request ID for the audit log. */
export function auditSourceOf(request: Request, response: Response): AuditSource {
  return { address: request.ip ?? null, requestId: contextOf(response).requestId };
}

export function setCookies(response: Response, cookies: readonly string[]): void {
  for (const cookie of cookies) response.append("Set-Cookie", cookie);
}
