/** What Waymark adds to the passkey endpoints: fresh authentication, limits, audit entries and mails. */
import type { GenericEndpointContext } from "better-auth";
import { LockMode } from "@mikro-orm/postgresql";
import { z } from "zod";
import { AppError } from "../../core/errors.ts";
import { requireFreshAuthentication } from "../../core/fresh-authentication.ts";
import type { Reader } from "../../core/postgres/database.ts";
import { User } from "../../organizations/api.ts";
import { authRequest } from "../auth/auth-request.ts";
import { recordUserEvent } from "../auth/client-info.ts";
import type { AccountContext } from "../context.ts";
import { parseOrThrow, passkeyNameField } from "../fields.ts";
import { FORGOTTEN_PASSWORD_PATH, passkeyChangedMail } from "../passwords/mails.ts";
import { PASSKEY_SESSION, UserSession } from "../sessions/entity.ts";
import type { SessionPrincipal } from "../sessions/session-principal.ts";
import { UserPasskey } from "./entity.ts";

type Endpoint = GenericEndpointContext;

export const PASSKEY_SIGN_IN = "/passkey/verify-authentication";
const SIGN_IN_OPTIONS = "/passkey/generate-authenticate-options";
const REGISTER = "/passkey/verify-registration";
const REMOVE = "/passkey/delete-passkey";
const MAX_PASSKEYS = 10;

/** Strict, as the library would open a second session for `createSession`. */
const registerBody = z.strictObject({ name: passkeyNameField, response: z.looseObject({}) });
const signInBody = z.object({ response: z.looseObject({ id: z.string().regex(/^[\w-]{1,1400}$/) }) });
const id = z.uuid({ error: "must be the id of a passkey" });
const removeBody = z.strictObject({ id });
const renameBody = z.strictObject({ id, name: passkeyNameField });

export function isPasskeyPath(path: string): boolean {
  return path.startsWith("/passkey/");
}

export async function hasPasskeys(on: Reader, userId: string): Promise<boolean> {
  return (await on.em().count(UserPasskey, { user: userId })) > 0;
}

/**
 * Throws ForbiddenException for a user who must use two-factor authentication and has only entered the password, but has a
 * passkey: anyone with the password could add their own second factor.
 */
export async function requirePasskeyOf(on: Reader, { user }: SessionPrincipal): Promise<void> {
  if (user.requiresTwoFactor && !user.hasTwoFactor && (await hasPasskeys(on, user.id)))
    throw new AppError("ForbiddenException", "Confirm your identity with your passkey first");
}

/** Checks the request. Throws AppErrors. */
export async function beforePasskey(context: AccountContext, { path, body = {} }: Endpoint) {
  const { database, clock, throttle } = context;
  const request = authRequest();
  const { client, em, principal } = request;
  if (path === SIGN_IN_OPTIONS || path === PASSKEY_SIGN_IN)
    await throttle.take(["sso-address", client.ipAddress]);
  if (path === PASSKEY_SIGN_IN) {
    const { response } = parseOrThrow(signInBody, body);
    const where = { credentialId: response.id };
    const populate = ["user.organization"] as const;
    request.passkey = await em.findOne(UserPasskey, where, { populate, strategy: "joined" });
    request.user = request.passkey?.user ?? null;
  }
  if (!principal || path === "/passkey/list-user-passkeys") return undefined;
  await requirePasskeyOf(database, principal);
  const user = principal.user.id;
  if (path !== "/passkey/update-passkey") requireFreshAuthentication(principal, clock.now());
  if (path === REMOVE || path === "/passkey/update-passkey") {
    const given = parseOrThrow(path === REMOVE ? removeBody : renameBody, body);
    request.passkey = await em.findOne(UserPasskey, { id: given.id, user });
    if (!request.passkey) throw new AppError("NotFoundException", "You have no such passkey");
    return { context: { body: given } };
  }
  if ((await em.count(UserPasskey, { user })) >= MAX_PASSKEYS) throw tooManyPasskeys();
  return path === REGISTER ? { context: { body: parseOrThrow(registerBody, body) } } : undefined;
}

/** Records and mails a change of the user's passkeys. Returns the library's answer if it must change. */
export async function afterPasskey({ database, mails, pageUrl }: AccountContext, endpoint: Endpoint) {
  const { principal, client, passkey } = authRequest();
  const { path } = endpoint;
  const { returned } = endpoint.context as { returned?: { id: string; name: string } };
  if (path === SIGN_IN_OPTIONS) return await endpoint.json({ ...returned, userVerification: "required" });
  if (!principal || (path !== REGISTER && path !== REMOVE)) return undefined;
  const isAdded = path === REGISTER;
  const name = passkey?.name ?? String(returned?.name);
  const isOver = await database.transactional(async (em, tx) => {
    // Of registrations at the same moment, each counts after the former one.
    if (isAdded) await em.findOne(User, { id: principal.user.id }, { lockMode: LockMode.PESSIMISTIC_WRITE });
    if (isAdded && (await em.count(UserPasskey, { user: principal.user.id })) > MAX_PASSKEYS)
      return await em.nativeDelete(UserPasskey, { id: String(returned?.id) });
    // The user has entered the password, and proved the new passkey.
    const { requiresTwoFactor, hasTwoFactor } = principal.user;
    const session = { id: principal.sessionId, provider: null };
    if (isAdded && requiresTwoFactor && !hasTwoFactor)
      await em.nativeUpdate(UserSession, session, { provider: PASSKEY_SESSION });
    const action = isAdded ? "passkey.added" : "passkey.removed";
    await recordUserEvent(tx, principal, client, { action, details: { passkey: name } });
    const url = pageUrl(FORGOTTEN_PASSWORD_PATH);
    await mails.enqueue(tx, passkeyChangedMail(principal.user.email, { name, isAdded, url }));
    return 0;
  });
  if (isOver) throw tooManyPasskeys();
  return undefined;
}

const tooManyPasskeys = () =>
  new AppError("ConflictException", `You have ${MAX_PASSKEYS} passkeys. Remove one first.`);

/** The audit details of a refused passkey. A counter that doesn't grow means a copy of the passkey. */
export function refusedPasskey({ body }: Endpoint) {
  const { passkey } = authRequest();
  if (!passkey) return {};
  const { response } = body as { response: { response?: { authenticatorData?: unknown } } };
  const data = Buffer.from(String(response.response?.authenticatorData), "base64url");
  const counter = data.length < 37 ? null : data.readUInt32BE(33);
  const isCopy = counter !== null && counter + passkey.counter > 0 && counter <= passkey.counter;
  return { passkey: passkey.name, ...(isCopy && { reason: "cloned" }) };
}
