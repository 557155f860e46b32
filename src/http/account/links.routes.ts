/** The links of mails: what one is good for, and the account that comes of it. For whoever has the link. */
import { Router, type Request, type Response } from "express";
import type { RegistrationService } from "../../accounts/registration.service.ts";
import { answering, type Answer } from "../answer.ts";
import { objectBody } from "../body.ts";
import { methodNotAllowed } from "../error-handler.ts";
import { originOf, type AccountGate } from "./account.gate.ts";

interface Parts {
  registrations: RegistrationService;
  gate: AccountGate;
}

export function linkRoutes({ registrations, gate }: Parts): Router {
  const check = async (request: Request, response: Response): Promise<Answer> => {
    const link = await registrations.check(objectBody(request), originOf(request, response));
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

  const accept = async (request: Request, response: Response): Promise<Answer> => {
    await registrations.accept(objectBody(request), originOf(request, response));
    return { data: {} };
  };

  const router = Router({ caseSensitive: true });
  router
    .route("/links/check")
    .all(gate.named("/auth/links/check"))
    .post(gate.form, answering(check))
    .all(methodNotAllowed("POST"));
  router
    .route("/links/accept")
    .all(gate.named("/auth/links/accept"))
    .post(gate.form, answering(accept))
    .all(methodNotAllowed("POST"));
  return router;
}
