/**
 * Authenticates the WebSockets of subscriptions: by the API key or session of `connection_init`, again before each event,
 * and every `revalidateIntervalMs` while no event comes.
 */
import type { ConnectionInitMessage } from "graphql-ws";
import {
  findApiKey,
  isKeyHeader,
  type KeyHeader,
  keyHeadersOf,
  keyRequired,
  type KeyVerifier,
} from "../../../api-keys/api.ts";
import { singleFlight } from "../../../core/concurrency/single-flight.ts";
import { AppError } from "../../../core/errors.ts";
import { partnerOf } from "../../../core/principal.ts";
import { authorize } from "../../../operations/admit.ts";
import { rootAccess } from "../../../operations/all.ts";
import type { AuthenticatedPrincipal } from "../authenticated-principal.ts";
import { parseSessionMode, SESSION_MODE_HEADER, type SessionVerifier } from "../../../accounts/api.ts";
import type { Connection, Credential } from "./connection.ts";
import { closeCodes, subscriptionLimits, TRY_AGAIN_REASON } from "./limits.ts";

type InitPayload = ConnectionInitMessage["payload"];

export interface AuthenticateDeps {
  verifier: Pick<KeyVerifier, "verify">;
  sessions: SessionVerifier;
  /** All open ones, whose number is limited. */
  connections: ReadonlySet<Connection>;
}

/** Together with `revalidateIntervalMs`, connections close within a second of their session's end. */
const SESSION_TTL_MS = 300;

/** Authenticates a new connection. Returns false and closes it with the reason if its credential is not valid. */
export async function authenticate(
  deps: AuthenticateDeps,
  connection: Connection,
  init: InitPayload,
): Promise<boolean> {
  try {
    const credential = await findCredential(deps, connection, init);
    const principal = await principalOf(credential);
    assertConnectionLimit(deps.connections, principal);
    Object.assign(connection, { credential, principal });
    return true;
  } catch (error) {
    if (error instanceof AppError && error.status === 400)
      connection.close(closeCodes.badRequest, error.message);
    else if (isAuthorizationError(error)) connection.close(closeCodes.forbidden, error.message);
    else connection.close(closeCodes.tryAgainLater, TRY_AGAIN_REASON);
    return false;
  }
}

/** Returns false and closes the connection if its credential is no longer valid. Throws other errors, such as lost databases. */
export async function revalidate(
  connection: Pick<Connection, "credential" | "principal" | "close">,
): Promise<boolean> {
  const { credential } = connection;
  if (!credential) return false;
  try {
    connection.principal = await principalOf(credential);
    return true;
  } catch (error) {
    if (!isAuthorizationError(error)) throw error;
    connection.close(closeCodes.forbidden, error.message);
    return false;
  }
}

/** Revalidates all connections, one check after another, so that they do not overload a slow database. */
export async function revalidateAll(connections: ReadonlySet<Connection>): Promise<void> {
  const groups = Map.groupBy(connections, ({ credential }) => credential?.groupKey);
  groups.delete(undefined);
  for (const group of groups.values())
    for (const connection of group)
      // If verification fails for another reason, keep the connections: each event is verified before it is sent.
      if (await revalidate(connection).catch(() => true)) break;
}

/**
 * Returns the API key or, without one, the session cookie of a connection. Throws UnauthorizedException without either, and
 * ForbiddenException for a session cookie sent by a page of another origin.
 */
async function findCredential(
  { verifier, sessions }: AuthenticateDeps,
  { options: { ipAddress, upgradeRequest } }: Connection,
  init: InitPayload,
): Promise<Credential> {
  const { headers, rawHeaders } = upgradeRequest;
  const key = findApiKey(keyHeaders(init, rawHeaders));
  if (key !== null) return { groupKey: `${key} ${ipAddress}`, verify: () => verifier.verify(key, ipAddress) };
  if (!sessions.hasSessionCookie(headers)) throw keyRequired();
  sessions.requireSameOrigin(headers);
  const mode = parseSessionMode(init?.[SESSION_MODE_HEADER]);
  const { sessionId } = await sessions.verify(headers, ipAddress, mode);
  // Cached briefly, so that an event for many subscriptions does not check the session many times.
  const verify = singleFlight(() => sessions.revalidate(sessionId, mode), SESSION_TTL_MS);
  return { groupKey: `${sessionId} ${mode}`, verify };
}

/** Returns the key headers of `connection_init`, or those of the upgrade request, which only non-browsers can set. */
function keyHeaders(init: InitPayload, rawHeaders: readonly string[]): readonly KeyHeader[] {
  const ofInit = Object.entries(init ?? {}).flatMap(([name, value]): KeyHeader[] =>
    isKeyHeader(name) && typeof value === "string" && value.trim() !== "" ? [[name, value]] : [],
  );
  return ofInit.length > 0 ? ofInit : keyHeadersOf(rawHeaders);
}

/** Returns the principal. Throws UnauthorizedException or ForbiddenException (also without `jobs:read`). */
async function principalOf(credential: Credential): Promise<AuthenticatedPrincipal> {
  const principal = await credential.verify();
  authorize(rootAccess.jobChanged, principal);
  return principal;
}

/** True for 401 and 403: the credential was rejected. */
function isAuthorizationError(error: unknown): error is AppError {
  return error instanceof AppError && (error.status === 401 || error.status === 403);
}

/** Throws ForbiddenException if the key, user or organisation already has the maximum number of connections. */
function assertConnectionLimit(connections: Iterable<Connection>, principal: AuthenticatedPrincipal): void {
  const { actor, keyId } = principal;
  const partnerId = partnerOf(principal);
  const { connectionsPerPrincipal, connectionsPerOrganization } = subscriptionLimits;
  const others = [...connections].flatMap(({ principal: other }) => other ?? []);
  const ofPrincipal = others.filter((other) => other.actor.id === actor.id);
  const ofPartner = others.filter((other) => partnerOf(other) === partnerId);
  if (ofPrincipal.length >= connectionsPerPrincipal) {
    const owner = keyId === null ? "A user" : "An API key";
    throw tooManyConnections(owner, connectionsPerPrincipal);
  }
  if (partnerId !== null && ofPartner.length >= connectionsPerOrganization)
    throw tooManyConnections("An organisation", connectionsPerOrganization);
}

function tooManyConnections(owner: string, max: number): AppError {
  return new AppError("ForbiddenException", `${owner} can have at most ${max} open WebSockets`);
}
