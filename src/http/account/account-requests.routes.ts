/** Public routes to request an account and to answer an operator's question about it. */
import { Router, type Request, type Response } from "express";
import type { AccountRequestService } from "../../accounts/api.ts";
import { toRequestHandler, type RouteResult } from "../route-result.ts";
import { tagRoute } from "../context.ts";
import { objectBody } from "../body.ts";
import { methodNotAllowed } from "../error-handler.ts";
import { auditSourceOf, type SessionGuards } from "./guards.ts";

interface AccountRequestRouteDeps {
  accountRequests: AccountRequestService;
  guards: SessionGuards;
}

export function accountRequestRoutes({ accountRequests, guards }: AccountRequestRouteDeps): Router {
  // Always the same response, so that it does not reveal whether the e-mail address is known. The result is e-mailed.
  const submit = async (request: Request, response: Response): Promise<RouteResult> => {
    await accountRequests.submit(objectBody(request), auditSourceOf(request, response));
    return { data: {} };
  };

  const answer = async (request: Request, response: Response): Promise<RouteResult> => {
    await accountRequests.answer(objectBody(request), auditSourceOf(request, response));
    return { data: {} };
  };

  const router = Router({ caseSensitive: true });
  router
    .route("/account-requests")
    .all(tagRoute("/auth/account-requests"))
    .post(guards.sameOriginForm, toRequestHandler(submit, 202))
    .all(methodNotAllowed("POST"));
  router
    .route("/account-requests/answer")
    .all(tagRoute("/auth/account-requests/answer"))
    .post(guards.sameOriginForm, toRequestHandler(answer))
    .all(methodNotAllowed("POST"));
  return router;
}
