/** Routes to set up and turn off two-factor authentication and to renew recovery codes. */
import { Router, type Request, type RequestHandler, type Response } from "express";
import { z } from "zod";
import { parseOrThrow } from "../../accounts/api.ts";
import { toRequestHandler, type RouteResult } from "../route-result.ts";
import { tagRoute } from "../context.ts";
import { objectBody } from "../body.ts";
import { methodNotAllowed } from "../error-handler.ts";
import { codeText, passwordBody } from "./schemas.ts";
import { sessionOf, setCookies, clientInfoOf } from "./guards.ts";
import type { AccountRouteDeps } from "./sign-in.routes.ts";

const confirmBody = z.object({ code: codeText });

export function twoFactorRoutes({ accounts: { twoFactor }, guards }: AccountRouteDeps): Router {
  const begin = async (request: Request, response: Response): Promise<RouteResult> => {
    const uri = await twoFactor.begin(
      sessionOf(response),
      passwordOf(request),
      clientInfoOf(request, response),
    );
    return { data: { totp_uri: uri } };
  };
  const confirm = async (request: Request, response: Response): Promise<RouteResult> => {
    const { code } = parseOrThrow(confirmBody, objectBody(request));
    const confirmed = await twoFactor.confirm(sessionOf(response), code, clientInfoOf(request, response));
    setCookies(response, confirmed.cookies);
    return { data: { recovery_codes: confirmed.codes } };
  };
  const renew = async (request: Request, response: Response): Promise<RouteResult> => {
    const clientInfo = clientInfoOf(request, response);
    const codes = await twoFactor.regenerateRecoveryCodes(sessionOf(response), clientInfo);
    return { data: { recovery_codes: codes } };
  };
  const disable = async (request: Request, response: Response): Promise<RouteResult> => {
    await twoFactor.disable(sessionOf(response), clientInfoOf(request, response));
    return { data: {} };
  };

  const router = Router({ caseSensitive: true });
  const post = (path: string, handler: RequestHandler): void => {
    router
      .route(path)
      .all(tagRoute(`/auth${path}`))
      .post(guards.ownAccountForm, handler)
      .all(methodNotAllowed("POST"));
  };
  post("/two-factor/begin", toRequestHandler(begin));
  post("/two-factor/confirm", toRequestHandler(confirm));
  post("/two-factor/recovery-codes", toRequestHandler(renew));
  post("/two-factor/disable", toRequestHandler(disable));
  return router;
}

function passwordOf(request: Request): string {
  return parseOrThrow(passwordBody, objectBody(request)).password;
}
