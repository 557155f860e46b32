/** Routes to list and end the user's sessions. */
import { Router, type Request, type Response } from "express";
import type { SessionView } from "../../accounts/api.ts";
import { toRequestHandler, type RouteResult } from "../route-result.ts";
import { tagRoute } from "../context.ts";
import { methodNotAllowed } from "../error-handler.ts";
import { sessionOf, clientInfoOf } from "./guards.ts";
import type { AccountRouteDeps } from "./sign-in.routes.ts";

export function sessionRoutes({ accounts: { sessions }, guards }: AccountRouteDeps): Router {
  const list = async (_request: Request, response: Response): Promise<RouteResult> => ({
    data: (await sessions.list(sessionOf(response))).map(toWire),
  });
  const revokeOthers = async (request: Request, response: Response): Promise<RouteResult> => ({
    data: { ended: await sessions.revokeOthers(sessionOf(response), clientInfoOf(request, response)) },
  });
  const revoke = async (request: Request, response: Response): Promise<RouteResult> => {
    await sessions.revoke(sessionOf(response), String(request.params["id"]), clientInfoOf(request, response));
    return { data: {} };
  };

  const router = Router({ caseSensitive: true });
  router
    .route("/sessions")
    .all(tagRoute("/auth/sessions"))
    .get(guards.ownAccount, toRequestHandler(list))
    .delete(guards.sameOrigin, guards.ownAccount, toRequestHandler(revokeOthers))
    .all(methodNotAllowed("GET, HEAD, DELETE"));
  router
    .route("/sessions/:id")
    .all(tagRoute("/auth/sessions/{id}"))
    .delete(guards.sameOrigin, guards.ownAccount, toRequestHandler(revoke))
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
