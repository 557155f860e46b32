/** Signing in and out, and who is signed in. */
import { Router, type Request, type Response } from "express";
import { z } from "zod";
import { checked } from "../../accounts/account.fields.ts";
import type { AccountService } from "../../accounts/account.service.ts";
import type { SignedIn } from "../../accounts/auth.sign-in.ts";
import type { SessionHolder } from "../../accounts/session.holder.ts";
import { toTypedId } from "../../platform/ids.ts";
import { answering, type Answer } from "../answer.ts";
import { objectBody } from "../body.ts";
import { methodNotAllowed } from "../error-handler.ts";
import { codeKind, codeText, secretText } from "./account.bodies.ts";
import { sessionOf, setCookies, visitOf, type AccountGate } from "./account.gate.ts";

const credentials = z.object({ email: secretText, password: secretText });
const answerBody = z.object({
  code: codeText,
  kind: codeKind,
});
const proofBody = z.object({
  password: secretText,
  code: codeText.optional(),
  kind: codeKind.default("totp"),
});

export interface AccountRouteParts {
  accounts: AccountService;
  gate: AccountGate;
}

export function signInRoutes({ accounts, gate }: AccountRouteParts): Router {
  const signIn = async (request: Request, response: Response): Promise<Answer> =>
    welcome(
      response,
      await accounts.signIn(checked(credentials, objectBody(request)), visitOf(request, response)),
    );

  const secondFactor = async (request: Request, response: Response): Promise<Answer> =>
    welcome(
      response,
      await accounts.confirmSignIn(checked(answerBody, objectBody(request)), visitOf(request, response)),
    );

  const reauthenticate = async (request: Request, response: Response): Promise<Answer> => {
    const proof = checked(proofBody, objectBody(request));
    await accounts.reauthenticate(sessionOf(response), proof, visitOf(request, response));
    return { data: {} };
  };

  const signOut = async (request: Request, response: Response): Promise<Answer> => {
    setCookies(response, await accounts.signOut(sessionOf(response), visitOf(request, response)));
    return { data: {} };
  };

  const router = Router({ caseSensitive: true });
  router
    .route("/sign-in")
    .all(gate.named("/auth/sign-in"))
    .post(gate.form, gate.keepsCookies, answering(signIn))
    .all(methodNotAllowed("POST"));
  router
    .route("/second-factor")
    .all(gate.named("/auth/second-factor"))
    .post(gate.form, answering(secondFactor))
    .all(methodNotAllowed("POST"));
  router
    .route("/reauthenticate")
    .all(gate.named("/auth/reauthenticate"))
    .post(gate.ownAccountForm, answering(reauthenticate))
    .all(methodNotAllowed("POST"));
  router
    .route("/sign-out")
    .all(gate.named("/auth/sign-out"))
    .post(gate.ownPage, gate.ownAccount, answering(signOut))
    .all(methodNotAllowed("POST"));
  router
    .route("/session")
    .all(gate.named("/auth/session"))
    .get(gate.ownAccount, answering(session))
    .all(methodNotAllowed("GET, HEAD"));
  return router;
}

function session(_request: Request, response: Response): Promise<Answer> {
  return Promise.resolve({ data: toSessionWire(sessionOf(response)) });
}

function welcome(response: Response, { cookies, secondFactorRequired }: SignedIn): Answer {
  setCookies(response, cookies);
  return { data: { second_factor_required: secondFactorRequired } };
}

function toSessionWire(holder: SessionHolder) {
  const { user, scopes, sessionId, sessionExpiresAt } = holder;
  return {
    user: {
      id: toTypedId("usr", user.id),
      name: user.name,
      email: user.email,
      role: user.role,
      has_second_factor: user.hasSecondFactor,
      must_have_second_factor: user.mustHaveSecondFactor,
    },
    organization:
      holder.organizationId === null
        ? null
        : {
            id: toTypedId("org", holder.organizationId),
            name: holder.organizationName,
            type: holder.organizationType,
          },
    scopes,
    session_id: sessionId,
    expires_at: sessionExpiresAt.toISOString(),
  };
}
