/** Public routes of the links in e-mails: check a link, and create the account that it invites to. */
import { Router, type Request, type Response } from "express";
import type { RegistrationService } from "../../accounts/api.ts";
import { toRequestHandler, type RouteResult } from "../route-result.ts";
import { tagRoute } from "../context.ts";
import { objectBody } from "../body.ts";
import { methodNotAllowed } from "../error-handler.ts";
import { auditSourceOf, type SessionGuards } from "./guards.ts";

interface LinkRouteDeps {
  registrations: RegistrationService;
  guards: SessionGuards;
}

export function linkRoutes({ registrations, guards }: LinkRouteDeps): Router {
  const check = async (request: Request, response: Response): Promise<RouteResult> => {
    const link = await registrations.check(objectBody(request), auditSourceOf(request, response));
    return {
      data: {
        kind: link.kind,
        email: link.email,
        organization_name: link.organizationName,
        question: link.question,
        expires_at: link.expiresAt,
      },
    };
  };

  const accept = async (request: Request, response: Response): Promise<RouteResult> => {
    await registrations.accept(objectBody(request), auditSourceOf(request, response));
    return { data: {} };
  };

  const router = Router({ caseSensitive: true });
  router
    .route("/links/check")
    .all(tagRoute("/auth/links/check"))
    .post(guards.sameOriginForm, toRequestHandler(check))
    .all(methodNotAllowed("POST"));
  router
    .route("/links/accept")
    .all(tagRoute("/auth/links/accept"))
    .post(guards.sameOriginForm, toRequestHandler(accept))
    .all(methodNotAllowed("POST"));
  return router;
}
