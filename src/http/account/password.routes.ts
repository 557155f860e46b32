/** Routes to change a password, and to reset a forgotten one by e-mail. */
import { Router, type Request, type Response } from "express";
import { z } from "zod";
import { accountEmail, parseOrThrow } from "../../accounts/api.ts";
import { toRequestHandler, type RouteResult } from "../route-result.ts";
import { tagRoute } from "../context.ts";
import { objectBody } from "../body.ts";
import { methodNotAllowed } from "../error-handler.ts";
import { secretText } from "./schemas.ts";
import { sessionOf, clientInfoOf } from "./guards.ts";
import type { AccountRouteDeps } from "./sign-in.routes.ts";

const forgottenBody = z.object({ email: accountEmail });
const resetBody = z.object({ token: secretText, password: secretText });
const changeBody = z.object({ current_password: secretText, new_password: secretText });

export function passwordRoutes({ accounts, guards }: AccountRouteDeps): Router {
  const forgotten = async (request: Request, response: Response): Promise<RouteResult> => {
    const { email } = parseOrThrow(forgottenBody, objectBody(request));
    await accounts.forgotPassword(email, clientInfoOf(request, response));
    return { data: {} };
  };
  const reset = async (request: Request, response: Response): Promise<RouteResult> => {
    await accounts.resetPassword(
      parseOrThrow(resetBody, objectBody(request)),
      clientInfoOf(request, response),
    );
    return { data: {} };
  };
  const change = async (request: Request, response: Response): Promise<RouteResult> => {
    const { current_password: current, new_password: next } = parseOrThrow(changeBody, objectBody(request));
    await accounts.changePassword(sessionOf(response), { current, next }, clientInfoOf(request, response));
    return { data: {} };
  };

  const router = Router({ caseSensitive: true });
  router
    .route("/password/forgotten")
    .all(tagRoute("/auth/password/forgotten"))
    .post(guards.sameOriginForm, toRequestHandler(forgotten, 202))
    .all(methodNotAllowed("POST"));
  router
    .route("/password/reset")
    .all(tagRoute("/auth/password/reset"))
    .post(guards.sameOriginForm, toRequestHandler(reset))
    .all(methodNotAllowed("POST"));
  router
    .route("/password/change")
    .all(tagRoute("/auth/password/change"))
    .post(guards.ownAccountForm, toRequestHandler(change))
    .all(methodNotAllowed("POST"));
  return router;
}
