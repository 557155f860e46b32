/** The routes that better-auth answers, in its own form: `{code, message}` for an error. */
import { type ErrorRequestHandler, type RequestHandler, Router } from "express";
import { type AccountServices, TWO_FACTOR_COOKIE } from "../../accounts/api.ts";
import { addRoute } from "../add-route.ts";
import { contextOf, duringExternalCall, inShare } from "../context.ts";
import { toAppError } from "../error-handler.ts";
import { clientInfoOf, requireSecureCookies, type SessionGuards } from "./guards.ts";

/** Returns the routes below `/auth`. The library's other endpoints don't exist. */
export function libraryRoutes(accounts: AccountServices, guards: SessionGuards): Router {
  const router = Router({ caseSensitive: true });
  const { sameOriginForm, ownAccountForm } = guards;
  const answer = answerWith(accounts);
  const add = (
    method: "get" | "post",
    guarding: readonly RequestHandler[],
    ...paths: readonly string[]
  ): void => {
    for (const path of paths) addRoute(router, path, { [method]: [...guarding, answer] });
  };
  /** The code completes a sign-in, or turns two-factor authentication on. */
  const needsAccount: RequestHandler = (request, response, next) =>
    request.headers.cookie?.includes(`${TWO_FACTOR_COOKIE}=`)
      ? next()
      : guards.ownAccount(request, response, next);
  const signIn = [...sameOriginForm, requireSecureCookies];
  const passkeyChanges = ["verify-registration", "update-passkey", "delete-passkey"];
  const twoFactorChanges = ["enable", "disable", "generate-backup-codes"];

  add("post", signIn, "/sign-in/email", "/sign-in/social", "/passkey/verify-authentication");
  add("post", [...sameOriginForm, needsAccount], "/two-factor/verify-totp", "/two-factor/verify-backup-code");
  add("post", ownAccountForm, ...passkeyChanges.map((name) => `/passkey/${name}`));
  add("post", ownAccountForm, ...twoFactorChanges.map((name) => `/two-factor/${name}`));
  add("post", [guards.sameOrigin, guards.ownAccount], "/sign-out");
  add("get", [guards.ownAccount], "/passkey/generate-register-options", "/passkey/list-user-passkeys");
  // The identity provider sends the browser to the second, from its own page. The state's cookie refuses the answers of others.
  add("get", [], "/passkey/generate-authenticate-options", "/callback/:id");
  router.use(sendAuthError);
  return router;
}

function answerWith(accounts: AccountServices): RequestHandler {
  return async (request, response) => {
    const { principal, shareKind } = contextOf(response);
    const answer = await inShare(response, shareKind, () =>
      accounts.handleAuth({
        method: request.method,
        origin: `${request.protocol}://${request.headers.host ?? "localhost"}`,
        path: request.url,
        body: request.method === "POST" ? (request.body as unknown) : undefined,
        client: clientInfoOf(request, response),
        external: (call) => duringExternalCall(response, call),
        principal: principal?.keyId === null ? principal : null,
      }),
    );
    response
      .status(answer.status)
      .setHeaders(answer.headers)
      .type("json")
      .end(await answer.text());
  };
}

/** Errors of guards and hooks in the library's form, such as `TOO_MANY_REQUESTS` for TooManyRequestsException. */
const sendAuthError: ErrorRequestHandler = (error: unknown, _request, response, next) => {
  const { code, status, headers, message, details } = toAppError(error);
  if (status >= 500) {
    next(error);
    return;
  }
  const words = code.replace(/Exception$/, "").replaceAll(/(?<=.)[A-Z]/g, "_$&");
  response.status(status).set(headers).json({ code: words.toUpperCase(), message, details });
};
