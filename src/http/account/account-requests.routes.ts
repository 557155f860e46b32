/** Asking for an account, and answering what operators ask about it. For anybody. */
import { Router, type Request, type Response } from "express";
import type { AccountRequestService } from "../../accounts/request.service.ts";
import { answering, type Answer } from "../answer.ts";
import { objectBody } from "../body.ts";
import { methodNotAllowed } from "../error-handler.ts";
import { originOf, type AccountGate } from "./account.gate.ts";

interface Parts {
  accountRequests: AccountRequestService;
  gate: AccountGate;
}

export function accountRequestRoutes({ accountRequests, gate }: Parts): Router {
  // One answer for everybody: what comes of it depends on whether the address is known, and goes there by mail.
  const submit = async (request: Request, response: Response): Promise<Answer> => {
    await accountRequests.submit(objectBody(request), originOf(request, response));
    return { data: {} };
  };

  const answer = async (request: Request, response: Response): Promise<Answer> => {
    await accountRequests.answer(objectBody(request), originOf(request, response));
    return { data: {} };
  };

  const router = Router({ caseSensitive: true });
  router
    .route("/account-requests")
    .all(gate.named("/auth/account-requests"))
    .post(gate.form, answering(submit, 202))
    .all(methodNotAllowed("POST"));
  router
    .route("/account-requests/answer")
    .all(gate.named("/auth/account-requests/answer"))
    .post(gate.form, answering(answer))
    .all(methodNotAllowed("POST"));
  return router;
}
