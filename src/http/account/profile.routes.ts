/** What a person says of themselves. */
import { Router, type Request, type Response } from "express";
import { z } from "zod";
import { checked, personName } from "../../accounts/account.fields.ts";
import { answering, type Answer } from "../answer.ts";
import { objectBody } from "../body.ts";
import { methodNotAllowed } from "../error-handler.ts";
import { sessionOf, visitOf } from "./account.gate.ts";
import type { AccountRouteParts } from "./sign-in.routes.ts";

const profileBody = z.object({ name: personName });

export function profileRoutes({ accounts, gate }: AccountRouteParts): Router {
  const change = async (request: Request, response: Response): Promise<Answer> => {
    const { name } = checked(profileBody, objectBody(request));
    await accounts.rename(sessionOf(response), name, visitOf(request, response));
    return { data: { name } };
  };

  const router = Router({ caseSensitive: true });
  router
    .route("/profile")
    .all(gate.named("/auth/profile"))
    .patch(gate.ownAccountForm, answering(change))
    .all(methodNotAllowed("PATCH"));
  return router;
}
