/** The routes that better-auth answers, in its own form: `{code, message}` for an error. */
import { type ErrorRequestHandler, type Request, type RequestHandler, type Response, Router } from "express";
import { type AccountServices, TWO_FACTOR_COOKIE } from "../../accounts/api.ts";
import type { AppError } from "../../core/errors.ts";
import { snakeCase } from "../../core/names.ts";
import { addRoute } from "../add-route.ts";
import { contextOf, duringExternalCall, inShare } from "../context.ts";
import { JSON_CONTENT_TYPE } from "../json.ts";
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
        origin: originOf(request),
        path: request.url,
        body: request.method === "POST" ? (request.body as unknown) : undefined,
        client: clientInfoOf(request, response),
        external: (call) => duringExternalCall(response, call),
        principal: principal?.keyId === null ? principal : null,
      }),
    );
    await sendAnswer(response, answer);
  };
}

function originOf({ protocol, headers: { host = "localhost" } }: Request): string {
  return `${protocol}://${host}`;
}

async function sendAnswer(response: Response, answer: globalThis.Response): Promise<void> {
  const text = await answer.text();
  for (const [name, value] of answer.headers) if (name !== "set-cookie") response.setHeader(name, value);
  if (text !== "") response.set("Content-Type", JSON_CONTENT_TYPE);
  for (const cookie of answer.headers.getSetCookie()) response.append("Set-Cookie", cookie);
  if (answer.status >= 400) {
    const responseBody = JSON.parse(text || "{}") as { code?: string };
    contextOf(response).failure = { code: responseBody.code ?? String(answer.status), responseBody };
  }
  response.status(answer.status).end(text);
}

/** Errors of guards and hooks in the library's form. */
const sendAuthError: ErrorRequestHandler = (error: unknown, _request, response, next) => {
  const failure = toAppError(error);
  if (failure.status >= 500) {
    next(error);
    return;
  }
  const { status, headers, message, details } = failure;
  const responseBody = { code: codeOf(failure), message, ...(details !== undefined && { details }) };
  contextOf(response).failure = { code: responseBody.code, responseBody };
  response.status(status).set(headers).json(responseBody);
};

/** `TOO_MANY_REQUESTS` for TooManyRequestsException. */
function codeOf({ code }: AppError): string {
  return snakeCase(
    code.replace(/Exception$/, "").replace(/^./, (letter) => letter.toLowerCase()),
  ).toUpperCase();
}
