/** Passwords: changed by who knows it, replaced by who reads the mail. */
import { Router, type Request, type Response } from "express";
import { z } from "zod";
import { accountEmail, checked } from "../../accounts/account.fields.ts";
import { answering, type Answer } from "../answer.ts";
import { objectBody } from "../body.ts";
import { methodNotAllowed } from "../error-handler.ts";
import { secretText } from "./account.bodies.ts";
import { sessionOf, visitOf } from "./account.gate.ts";
import type { AccountRouteParts } from "./sign-in.routes.ts";

const forgottenBody = z.object({ email: accountEmail });
const resetBody = z.object({ token: secretText, password: secretText });
const changeBody = z.object({ current_password: secretText, new_password: secretText });

export function passwordRoutes({ accounts, gate }: AccountRouteParts): Router {
  const forgotten = async (request: Request, response: Response): Promise<Answer> => {
    const { email } = checked(forgottenBody, objectBody(request));
    await accounts.forgotPassword(email, visitOf(request, response));
    return { data: {} };
  };
  const reset = async (request: Request, response: Response): Promise<Answer> => {
    await accounts.resetPassword(checked(resetBody, objectBody(request)), visitOf(request, response));
    return { data: {} };
  };
  const change = async (request: Request, response: Response): Promise<Answer> => {
    const { current_password: current, new_password: next } = checked(changeBody, objectBody(request));
    await accounts.changePassword(sessionOf(response), { current, next }, visitOf(request, response));
    return { data: {} };
  };

  const router = Router({ caseSensitive: true });
  router
    .route("/password/forgotten")
    .all(gate.named("/auth/password/forgotten"))
    .post(gate.form, answering(forgotten, 202))
    .all(methodNotAllowed("POST"));
  router
    .route("/password/reset")
    .all(gate.named("/auth/password/reset"))
    .post(gate.form, answering(reset))
    .all(methodNotAllowed("POST"));
  router
    .route("/password/change")
    .all(gate.named("/auth/password/change"))
    .post(gate.ownAccountForm, answering(change))
    .all(methodNotAllowed("POST"));
  return router;
}
