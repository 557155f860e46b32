/** Asking for an account, and answering what operators ask about it. For anybody. */
import { Router, type Request, type Response } from "express";
import type { AccountRequestService } from "../../accounts/api.ts";
import { toRequestHandler, type RouteResult } from "../route-result.ts";
import { objectBody } from "../body.ts";
import { methodNotAllowed } from "../error-handler.ts";
import { auditSourceOf, type SessionGuards } from "./guards.ts";

interface AccountRequestRouteDeps {
  accountRequests: AccountRequestService;
  guards: SessionGuards;
}

export function accountRequestRoutes({ accountRequests, guards }: AccountRequestRouteDeps): Router {
  // One answer for everybody: what comes of it depends on whether the address is known, and goes there by mail.
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
    .all(guards.tagRoute("/auth/account-requests"))
    .post(guards.sameOriginForm, toRequestHandler(submit, 202))
    .all(methodNotAllowed("POST"));
  router
    .route("/account-requests/answer")
    .all(guards.tagRoute("/auth/account-requests/answer"))
    .post(guards.sameOriginForm, toRequestHandler(answer))
    .all(methodNotAllowed("POST"));
  return router;
}
