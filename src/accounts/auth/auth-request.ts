/** Passes requests of the routes below `/auth` to better-auth, with what its hooks need to know about them. */
import { AsyncLocalStorage } from "node:async_hooks";
import type { GenericEndpointContext } from "better-auth";
import type { EntityManager } from "@mikro-orm/postgresql";
import { recordAuditEvent } from "../../audit/api.ts";
import { AppError, invariant } from "../../core/errors.ts";
import type { Reader } from "../../core/postgres/database.ts";
import { systemActor } from "../../core/principal.ts";
import type { OAuthProvider } from "better-auth/oauth2";
import type { User } from "../../organizations/api.ts";
import type { AccountContext } from "../context.ts";
import type { UserPasskey } from "../passkeys/entity.ts";
import type { SessionPrincipal } from "../sessions/session-principal.ts";
import type { Claims, IdentityProvider, SsoError } from "../sso/provider.ts";
import { SESSION_COOKIE } from "./cookies.ts";
import type { ThrottleAttempt } from "./throttle.ts";

export const AUTH_PATH = "/auth";
/** Passes the client's IP address to the library. We always set it, so clients can't forge it. */
export const CLIENT_IP_HEADER = "x-waymark-client-ip";
const MAX_USER_AGENT_LENGTH = 300;

/** The HTTP client's details that account services need. */
export interface ClientInfo {
  readonly cookie: string | undefined;
  readonly ipAddress: string;
  readonly userAgent: string | undefined;
  readonly requestId: string;
}

export interface AuthCall {
  readonly method: string;
  /** Of the service, as the browser knows it; for installations without PUBLIC_URL. */
  readonly origin: string;
  /** Below `/auth`, with the query. */
  readonly path: string;
  /** Parsed JSON; undefined without a body. */
  readonly body: unknown;
  readonly client: ClientInfo;
  /** Null on routes that need no session. */
  readonly principal: SessionPrincipal | null;
  /** Runs a request to another server. The request does not count as in flight meanwhile. */
  readonly external: <Value>(call: () => Promise<Value>) => Promise<Value>;
}

export interface AuthRequest extends AuthCall {
  /** Keeps what it has read, so that an audit entry doesn't read the user again. */
  readonly em: EntityManager;
  /** Attempts to refund if the request succeeds. */
  attempts: readonly ThrottleAttempt[];
  /** The user as read before the password or code was checked: a change meanwhile ends the new session. */
  user: User | null;
  /** Of a single sign-on: the provider, and as the library uses it. */
  idp: IdentityProvider | null;
  provider: OAuthProvider<Claims> | null;
  /** The e-mail address that the provider has for the user. */
  identityEmail: string | null;
  /** The passkey that the request is about. */
  passkey: UserPasskey | null;
  /** Why a single sign-on fails, if the library can't know. */
  failure: SsoError | null;
}

/** `returned`: the library's answer, after the endpoint. */
type Hook = (endpoint: GenericEndpointContext & { context: { returned?: unknown } }) => Promise<unknown>;

/** Waymark's steps before and after the library's endpoints, by path. A result replaces the request's body, or the answer. */
export interface EndpointHooks {
  readonly before: Readonly<Record<string, Hook>>;
  readonly after: Readonly<Record<string, Hook>>;
}

const current = new AsyncLocalStorage<AuthRequest>();

/** The request that a hook runs for. */
export function authRequest(): AuthRequest {
  const request = current.getStore();
  invariant(request, "better-auth is only called by handleAuthRequest");
  return request;
}

/** The principal of a hook whose route needs a session. */
export function signedInUser(): SessionPrincipal {
  const { principal } = authRequest();
  invariant(principal, "the route needs a session");
  return principal;
}

/** Records an action of the signed-in user on their own account. `on`: the transaction of the change, if there is one. */
export async function recordOwnEvent(
  on: Reader,
  action: string,
  details?: Readonly<Record<string, unknown>>,
): Promise<void> {
  await recordAuditEvent(on, { ...signedInUser(), ...authRequest().client, action, details });
}

/** Records a failed sign-in to an existing account in the background, so that it takes no longer to answer than an unknown one. */
export function recordFailedSignIn(
  { backgroundQueue, database }: Pick<AccountContext, "backgroundQueue" | "database">,
  { email, organization }: User,
  details: Readonly<Record<string, unknown>>,
): void {
  const organizationId = organization?.id ?? null;
  const failed = { action: "session.sign_in_failed", actor: systemActor, organizationId, subject: email };
  const event = { ...authRequest().client, ...failed, details };
  backgroundQueue.run("record a failed sign-in", async () => void (await recordAuditEvent(database, event)));
}

/** Returns the library's response. Throws AppErrors of the hooks. */
export async function handleAuthRequest(
  { database, publicUrl }: Pick<AccountContext, "database" | "publicUrl">,
  handler: (request: Request) => Promise<Response>,
  call: AuthCall,
): Promise<Response> {
  const { method, origin, path, body, client, principal } = call;
  const { cookie, ipAddress, userAgent } = client;
  const url = new URL(`${publicUrl ?? origin}${AUTH_PATH}${path}`);
  const headers = new Headers({ [CLIENT_IP_HEADER]: ipAddress, origin: url.origin });
  // Users recognise their sessions by it, so it must be printable.
  const printableUserAgent = userAgent?.replaceAll(/[^\x20-\x7e]/g, "").slice(0, MAX_USER_AGENT_LENGTH);
  if (printableUserAgent) headers.set("user-agent", printableUserAgent);
  // Without its cookie, the library doesn't take a code for a change of the session that the browser had before.
  if (cookie !== undefined)
    headers.set("cookie", principal ? cookie : cookie.replaceAll(`${SESSION_COOKIE}=`, "hidden="));
  if (body !== undefined) headers.set("content-type", "application/json");
  const request = new Request(url, { method, headers, body: body === undefined ? null : toJson(body) });
  const state: AuthRequest = {
    ...call,
    em: database.em(),
    attempts: [],
    user: null,
    idp: null,
    provider: null,
    identityEmail: null,
    passkey: null,
    failure: null,
  };
  return await current.run(state, () => handler(request));
}

/** Throws BadRequestException for lists in lists that `JSON.parse` accepts and `JSON.stringify` doesn't. */
function toJson(body: unknown): string {
  try {
    return JSON.stringify(body);
  } catch (error) {
    throw new AppError("BadRequestException", "The body is nested too deeply", { cause: error });
  }
}
