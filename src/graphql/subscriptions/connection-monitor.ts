/** Closes WebSocket connections with revoked credentials, stalled clients or missing pongs, and limits their number. */
import { requireScope } from "../../api-keys/api.ts";
import { AppError } from "../../platform/errors.ts";
import type { ConnectionCredential } from "./connection-credentials.ts";
import { isSessionPrincipal, type AuthenticatedPrincipal } from "../principal.ts";
import { closeCodes, subscriptionLimits } from "./limits.ts";
import type { WebSocketConnection } from "./websocket-connection.ts";

export interface ConnectionMonitor extends Disposable {
  /** Returns the principal. Throws UnauthorizedException or ForbiddenException (also without `jobs:read`). */
  authorize(credential: ConnectionCredential): Promise<AuthenticatedPrincipal>;
  /** Returns false and closes the connection if its credential is no longer valid. Throws other errors, such as lost databases. */
  revalidate(connection: WebSocketConnection): Promise<boolean>;
  /** Throws ForbiddenException if the key, user or organisation already has the maximum number of connections. */
  assertConnectionLimit(principal: AuthenticatedPrincipal): void;
}

async function authorizeCredential(credential: ConnectionCredential): Promise<AuthenticatedPrincipal> {
  const principal = await credential.verify();
  requireScope(principal, "jobs:read");
  return principal;
}

export function createConnectionMonitor(connections: ReadonlySet<WebSocketConnection>): ConnectionMonitor {
  const revalidate: ConnectionMonitor["revalidate"] = async (connection) => {
    const { authentication } = connection;
    if (!authentication) return false;
    try {
      connection.authentication = {
        ...authentication,
        principal: await authorizeCredential(authentication.credential),
      };
      return true;
    } catch (error) {
      if (!isAuthorizationError(error)) throw error;
      connection.close(closeCodes.forbidden, error.message);
      return false;
    }
  };

  const revalidateGroup = async ([first, ...others]: WebSocketConnection[]): Promise<void> => {
    // If verification fails for another reason, keep the connection: each event is verified before it is sent.
    const isValid = !first || (await revalidate(first).catch(() => true));
    if (isValid) return;
    for (const connection of others) await revalidate(connection).catch(() => true);
  };

  let isRevalidating = false;
  /** Runs one check after another, so that many connections do not overload a slow database. */
  const revalidateAll = async (): Promise<void> => {
    if (isRevalidating) return;
    isRevalidating = true;
    for (const group of groupByCredential(connections)) await revalidateGroup(group);
    isRevalidating = false;
  };

  const revalidateTimer = setInterval(() => {
    void revalidateAll();
    for (const connection of connections) connection.checkBackpressure();
  }, subscriptionLimits.revalidateIntervalMs);
  const pingTimer = setInterval(() => {
    for (const connection of connections) if (!connection.ping()) connection.terminate();
  }, subscriptionLimits.pingIntervalMs);
  revalidateTimer.unref();
  pingTimer.unref();

  return {
    authorize: authorizeCredential,
    revalidate,
    assertConnectionLimit: (principal) => assertConnectionLimit(connections, principal),
    [Symbol.dispose]() {
      clearInterval(revalidateTimer);
      clearInterval(pingTimer);
    },
  };
}

/** True for 401 and 403: the credential was rejected. */
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
  const samePrincipal = principals.filter((other) => other.actor.id === actor.id);
  if (samePrincipal.length >= connectionsPerPrincipal)
    throw new AppError(
      "ForbiddenException",
      `${isSessionPrincipal(principal) ? "A user" : "An API key"} can have at most ${connectionsPerPrincipal} open WebSockets`,
    );
  if (organizationId === null) return;
  const sameOrganization = principals.filter((other) => other.organizationId === organizationId);
  if (sameOrganization.length >= connectionsPerOrganization)
    throw new AppError(
      "ForbiddenException",
      `An organisation can have at most ${connectionsPerOrganization} open WebSockets`,
    );
}

/** Groups connections that share one verification: same key and IP address, or same session. */
function groupByCredential(connections: Iterable<WebSocketConnection>): WebSocketConnection[][] {
  const groups = new Map<string, WebSocketConnection[]>();
  for (const connection of connections) {
    if (!connection.authentication) continue;
    const { groupKey } = connection.authentication.credential;
    const group = groups.get(groupKey);
    if (group) group.push(connection);
    else groups.set(groupKey, [connection]);
  }
  return [...groups.values()];
}
