/** What stands before every route of `/auth`: its name for the logs, the page that asks, the body, and who is signed in. */
import type { Request, RequestHandler, Response } from "express";
import type { Origin } from "../../accounts/audit.service.ts";
import type { SessionVerifier } from "../../accounts/session.verifier.ts";
import type { SessionHolder } from "../../accounts/session.holder.ts";
import type { Visit } from "../../accounts/auth.visit.ts";
import { AppError, invariant } from "../../platform/errors.ts";
import { keepsSecureCookies } from "../../platform/own-page.ts";
import { readJson } from "../body.ts";
import { contextOf } from "../context.ts";

export interface AccountGate {
  named(route: string): RequestHandler;
  /** Changes something: only pages of our own may ask. */
  ownPage: RequestHandler;
  /** The same, with a JSON body. */
  form: RequestHandler[];
  signedIn: RequestHandler;
  /** For what people do with their own accounts alone: also who has yet to turn on the second factor that they must have. */
  ownAccount: RequestHandler;
  /** Only pages whose browser would keep the session's cookie: better told than signed out without a word. */
  keepsCookies: RequestHandler;
  /** A form of one's own account. */
  ownAccountForm: RequestHandler[];
}

const MAX_BODY_BYTES = 16_384;

export function createAccountGate(sessions: SessionVerifier): AccountGate {
  const ownPage: RequestHandler = (request, _response, next) => {
    sessions.requireOwnPage(request.headers);
    next();
  };
  const ownAccount = whoIs((headers, address) => sessions.verifyForOwnAccount(headers, address));
  const body = readJson(MAX_BODY_BYTES);
  return {
    named: (route) => (_request, response, next) => {
      contextOf(response).route = route;
      next();
    },
    ownPage,
    form: [ownPage, body],
    signedIn: whoIs((headers, address) => sessions.verify(headers, address)),
    ownAccount,
    keepsCookies: (request, _response, next) => {
      if (!keepsSecureCookies(request.headers)) throw notKept();
      next();
    },
    // The body last: who may not send it need not.
    ownAccountForm: [ownPage, ownAccount, body],
  };
}

/** Notes who is signed in. */
function whoIs(verify: SessionVerifier["verify"]): RequestHandler {
  return async (request, response, next) => {
    contextOf(response).holder = await verify(request.headers, request.ip ?? "");
    next();
  };
}

function notKept(): AppError {
  return new AppError(
    "ForbiddenException",
    "Nobody can sign in over plain http, but for http://localhost: browsers would not keep the session. Open this page with https.",
  );
}

/** Only routes behind `signedIn` or `ownAccount` may ask. */
export function sessionOf(response: Response): SessionHolder {
  const { holder } = contextOf(response);
  invariant(holder && holder.keyId === null, "the route is behind signedIn or ownAccount");
  return holder;
}

export function visitOf(request: Request, response: Response): Visit {
  return {
    cookie: request.headers.cookie,
    address: request.ip ?? "",
    userAgent: request.headers["user-agent"],
    requestId: contextOf(response).requestId,
  };
}

/** Where a request comes from, for the audit log. */
export function originOf(request: Request, response: Response): Origin {
  return { address: request.ip ?? null, requestId: contextOf(response).requestId };
}

/** Adds cookies to the answer. */
export function setCookies(response: Response, cookies: readonly string[]): void {
  for (const cookie of cookies) response.append("Set-Cookie", cookie);
}
