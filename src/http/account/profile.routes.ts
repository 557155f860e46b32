/** The route to change the user's name. */
import { Router, type Request, type Response } from "express";
import { z } from "zod";
import { parseOrThrow, userNameField } from "../../accounts/api.ts";
import { toRequestHandler, type RouteResult } from "../route-result.ts";
import { tagRoute } from "../context.ts";
import { objectBody } from "../body.ts";
import { methodNotAllowed } from "../error-handler.ts";
import { sessionOf, clientInfoOf } from "./guards.ts";
import type { AccountRouteDeps } from "./sign-in.routes.ts";

const profileBody = z.object({ name: userNameField });

export function profileRoutes({ accounts, guards }: AccountRouteDeps): Router {
  const change = async (request: Request, response: Response): Promise<RouteResult> => {
    const { name } = parseOrThrow(profileBody, objectBody(request));
    await accounts.updateName(sessionOf(response), name, clientInfoOf(request, response));
    return { data: { name } };
  };

  const router = Router({ caseSensitive: true });
  router
    .route("/profile")
    .all(tagRoute("/auth/profile"))
    .patch(guards.ownAccountForm, toRequestHandler(change))
    .all(methodNotAllowed("PATCH"));
  return router;
}
