/** Watching over open sockets: that their keys and sessions are still good, that they take what is sent, that somebody is there. */
import { requireScope } from "../../api-keys/api.ts";
import { AppError } from "../../platform/errors.ts";
import type { ConnectionCredential } from "./connection-credentials.ts";
import { isSessionPrincipal, type AuthenticatedPrincipal } from "../principal.ts";
import { closeCodes, subscriptionLimits } from "./limits.ts";
import type { WebSocketConnection } from "./websocket-connection.ts";

export interface ConnectionMonitor extends Disposable {
  /** Who calls. Throws UnauthorizedException and ForbiddenException, also where they may not read jobs. */
  authorize(credential: ConnectionCredential): Promise<AuthenticatedPrincipal>;
  /** Whether the caller is still admitted. If not, the socket is closed; the rest, such as a database that is away, is thrown. */
  revalidate(live: WebSocketConnection): Promise<boolean>;
  /** Throws ForbiddenException where one more socket is too many for this key or person, or for their organisation. */
  assertConnectionLimit(holder: AuthenticatedPrincipal): void;
}

async function authorizeCredential(credential: ConnectionCredential): Promise<AuthenticatedPrincipal> {
  const principal = await credential.verify();
  requireScope(principal, "jobs:read");
  return principal;
}

export function createConnectionMonitor(connections: ReadonlySet<WebSocketConnection>): ConnectionMonitor {
  const revalidate: ConnectionMonitor["revalidate"] = async (live) => {
    const { authentication } = live;
    if (!authentication) return false;
    try {
      live.authentication = {
        ...authentication,
        principal: await authorizeCredential(authentication.credential),
      };
      return true;
    } catch (error) {
      if (!isAuthorizationError(error)) throw error;
      live.close(closeCodes.forbidden, error.message);
      return false;
    }
  };

  const revalidateGroup = async ([first, ...others]: WebSocketConnection[]): Promise<void> => {
    // Who cannot be verified now stays: no event reaches it unverified.
    const isGood = !first || (await revalidate(first).catch(() => true));
    if (isGood) return;
    for (const live of others) await revalidate(live).catch(() => true);
  };

  let isRevalidating = false;
  /** One after the other: while the database is slow, a thousand sockets must not ask it a thousand times. */
  const revalidateAll = async (): Promise<void> => {
    if (isRevalidating) return;
    isRevalidating = true;
    for (const group of groupByCredential(connections)) await revalidateGroup(group);
    isRevalidating = false;
  };

  const revalidateTimer = setInterval(() => {
    void revalidateAll();
    for (const live of connections) live.checkBackpressure();
  }, subscriptionLimits.checkEveryMs);
  const pingTimer = setInterval(() => {
    for (const live of connections) if (!live.ping()) live.terminate();
  }, subscriptionLimits.pingIntervalMs);
  revalidateTimer.unref();
  pingTimer.unref();

  return {
    authorize: authorizeCredential,
    revalidate,
    assertConnectionLimit: (holder) => assertConnectionLimit(connections, holder),
    [Symbol.dispose]() {
      clearInterval(revalidateTimer);
      clearInterval(pingTimer);
    },
  };
}

/** The caller's fault, rather than ours. */
export function isAuthorizationError(error: unknown): error is AppError {
  return error instanceof AppError && (error.status === 401 || error.status === 403);
}

function assertConnectionLimit(
  connections: Iterable<WebSocketConnection>,
  principal: AuthenticatedPrincipal,
): void {
  const { connectionsPerPrincipal, connectionsPerOrganization } = subscriptionLimits;
  const { actor, organizationId } = principal;
  const principals = [...connections].flatMap(({ authentication }) =>
    authentication ? [authentication.principal] : [],
  );
  if (principals.filter((holder) => holder.actor.id === actor.id).length >= connectionsPerPrincipal)
    throw new AppError(
      "ForbiddenException",
      `At most ${connectionsPerPrincipal} WebSockets are open ${isSessionPrincipal(principal) ? "for one person" : "with one key"}`,
    );
  if (organizationId === null) return;
  if (
    principals.filter((holder) => holder.organizationId === organizationId).length >=
    connectionsPerOrganization
  )
    throw new AppError(
      "ForbiddenException",
      `At most ${connectionsPerOrganization} WebSockets are open for one organisation`,
    );
}

/** Sockets that one verification speaks for: of the same key from the same address, or of the same session. */
function groupByCredential(connections: Iterable<WebSocketConnection>): WebSocketConnection[][] {
  const groups = new Map<string, WebSocketConnection[]>();
  for (const live of connections) {
    if (!live.authentication) continue;
    const { groupKey } = live.authentication.credential;
    const group = groups.get(groupKey);
    if (group) group.push(live);
    else groups.set(groupKey, [live]);
  }
  return [...groups.values()];
}
