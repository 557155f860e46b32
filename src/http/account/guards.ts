/** What stands before every route of `/auth`: its name for the logs, the page that asks, the body, and who is signed in. */
import type { Request, RequestHandler, Response } from "express";
import type { AuditSource } from "../../audit/api.ts";
import type { ClientInfo, SessionPrincipal, SessionVerifier } from "../../accounts/api.ts";
import { AppError, invariant } from "../../platform/errors.ts";
import { supportsSecureCookies } from "../../platform/same-origin.ts";
import { readJson } from "../body.ts";
import { contextOf } from "../context.ts";

export interface SessionGuards {
  tagRoute(route: string): RequestHandler;
  /** Changes something: only pages of our own may ask. */
  sameOrigin: RequestHandler;
  /** The same, with a JSON body. */
  sameOriginForm: RequestHandler[];
  signedIn: RequestHandler;
  /** For what people do with their own accounts alone: also who has yet to turn on the second factor that they must have. */
  ownAccount: RequestHandler;
  /** Only pages whose browser would keep the session's cookie: better told than signed out without a word. */
  secureCookies: RequestHandler;
  /** A form of one's own account. */
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
    tagRoute: (route) => (_request, response, next) => {
      contextOf(response).route = route;
      next();
    },
    sameOrigin,
    sameOriginForm: [sameOrigin, body],
    signedIn: requireSession((headers, address) => sessions.verify(headers, address)),
    ownAccount,
    secureCookies: (request, _response, next) => {
      if (!supportsSecureCookies(request.headers)) throw insecureCookies();
      next();
    },
    // The body last: who may not send it need not.
    ownAccountForm: [sameOrigin, ownAccount, body],
  };
}

/** Notes who is signed in. */
function requireSession(verify: SessionVerifier["verify"]): RequestHandler {
  return async (request, response, next) => {
    contextOf(response).principal = await verify(request.headers, request.ip ?? "");
    next();
  };
}

function insecureCookies(): AppError {
  return new AppError(
    "ForbiddenException",
    "Nobody can sign in over plain http, but for http://localhost: browsers would not keep the session. Open this page with https.",
  );
}

/** Only routes behind `signedIn` or `ownAccount` may ask. */
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

/** Where a request comes from, for the audit log. */
export function auditSourceOf(request: Request, response: Response): AuditSource {
  return { address: request.ip ?? null, requestId: contextOf(response).requestId };
}

/** Adds cookies to the answer. */
export function setCookies(response: Response, cookies: readonly string[]): void {
  for (const cookie of cookies) response.append("Set-Cookie", cookie);
}
