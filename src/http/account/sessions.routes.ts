/** A person's own sessions: listed and ended. */
import { Router, type Request, type Response } from "express";
import type { SessionView } from "../../accounts/session.service.ts";
import { answering, type Answer } from "../answer.ts";
import { methodNotAllowed } from "../error-handler.ts";
import { sessionOf, visitOf } from "./account.gate.ts";
import type { AccountRouteParts } from "./sign-in.routes.ts";

export function sessionRoutes({ accounts: { sessions }, gate }: AccountRouteParts): Router {
  const list = async (_request: Request, response: Response): Promise<Answer> => ({
    data: (await sessions.list(sessionOf(response))).map(toWire),
  });
  const endOthers = async (request: Request, response: Response): Promise<Answer> => ({
    data: { ended: await sessions.endOthers(sessionOf(response), visitOf(request, response)) },
  });
  const end = async (request: Request, response: Response): Promise<Answer> => {
    await sessions.end(sessionOf(response), String(request.params["id"]), visitOf(request, response));
    return { data: {} };
  };

  const router = Router({ caseSensitive: true });
  router
    .route("/sessions")
    .all(gate.named("/auth/sessions"))
    .get(gate.ownAccount, answering(list))
    .delete(gate.ownPage, gate.ownAccount, answering(endOthers))
    .all(methodNotAllowed("GET, HEAD, DELETE"));
  router
    .route("/sessions/:id")
    .all(gate.named("/auth/sessions/{id}"))
    .delete(gate.ownPage, gate.ownAccount, answering(end))
    .all(methodNotAllowed("DELETE"));
  return router;
}

function toWire(view: SessionView) {
  return {
    id: view.id,
    current: view.isCurrent,
    created_at: view.createdAt,
    last_seen_at: view.lastSeenAt,
    address: view.address,
    user_agent: view.userAgent,
    expires_at: view.expiresAt,
  };
}
