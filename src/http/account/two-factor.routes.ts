/** A person's second factor: begun, confirmed, its recovery codes renewed, turned off. */
import { Router, type Request, type RequestHandler, type Response } from "express";
import { z } from "zod";
import { checked } from "../../accounts/account.fields.ts";
import { answering, type Answer } from "../answer.ts";
import { objectBody } from "../body.ts";
import { methodNotAllowed } from "../error-handler.ts";
import { codeText, passwordBody } from "./account.bodies.ts";
import { sessionOf, setCookies, visitOf } from "./account.gate.ts";
import type { AccountRouteParts } from "./sign-in.routes.ts";

const confirmBody = z.object({ code: codeText });

export function twoFactorRoutes({ accounts: { twoFactor }, gate }: AccountRouteParts): Router {
  const begin = async (request: Request, response: Response): Promise<Answer> => {
    const uri = await twoFactor.begin(sessionOf(response), passwordOf(request), visitOf(request, response));
    return { data: { totp_uri: uri } };
  };
  const confirm = async (request: Request, response: Response): Promise<Answer> => {
    const { code } = checked(confirmBody, objectBody(request));
    const confirmed = await twoFactor.confirm(sessionOf(response), code, visitOf(request, response));
    setCookies(response, confirmed.cookies);
    return { data: { recovery_codes: confirmed.codes } };
  };
  const renew = async (request: Request, response: Response): Promise<Answer> => {
    const visit = visitOf(request, response);
    const codes = await twoFactor.renewCodes(sessionOf(response), visit);
    return { data: { recovery_codes: codes } };
  };
  const disable = async (request: Request, response: Response): Promise<Answer> => {
    const visit = visitOf(request, response);
    await twoFactor.disable(sessionOf(response), visit);
    return { data: {} };
  };

  const router = Router({ caseSensitive: true });
  const post = (path: string, handler: RequestHandler): void => {
    router
      .route(path)
      .all(gate.named(`/auth${path}`))
      .post(gate.ownAccountForm, handler)
      .all(methodNotAllowed("POST"));
  };
  post("/two-factor/begin", answering(begin));
  post("/two-factor/confirm", answering(confirm));
  post("/two-factor/recovery-codes", answering(renew));
  post("/two-factor/disable", answering(disable));
  return router;
}

function passwordOf(request: Request): string {
  return checked(passwordBody, objectBody(request)).password;
}
