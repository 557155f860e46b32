/** What Waymark adds to the passkey endpoints: fresh authentication, limits, audit entries and mails. */
import type { GenericEndpointContext } from "better-auth";
import { z } from "zod";
import { AppError } from "../../core/errors.ts";
import { requireFreshAuthentication } from "../../core/fresh-authentication.ts";
import type { Reader } from "../../core/postgres/database.ts";
import type { Transaction } from "../../core/postgres/transaction.ts";
import { authRequest, type EndpointHooks, recordOwnEvent, signedInUser } from "../auth/auth-request.ts";
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

export function passkeyHooks(context: AccountContext): EndpointHooks {
  const { database, throttle } = context;
  const takeAttempt = () => throttle.take(["sso-address", authRequest().client.ipAddress]);
  return {
    before: {
      [SIGN_IN_OPTIONS]: takeAttempt,
      [PASSKEY_SIGN_IN]: async ({ body = {} }) => {
        await takeAttempt();
        const request = authRequest();
        const where = { credentialId: parseOrThrow(signInBody, body).response.id };
        const populate = ["user.organization"] as const;
        request.passkey = await request.em.findOne(UserPasskey, where, { populate, strategy: "joined" });
        request.user = request.passkey?.user ?? null;
      },
      "/passkey/generate-register-options": () => requireRoom(context),
      [REGISTER]: async ({ body = {} }) => {
        await requireRoom(context);
        return { context: { body: parseOrThrow(registerBody, body) } };
      },
      [REMOVE]: async ({ body = {} }) => {
        await requireFresh(context);
        return await findOwn(parseOrThrow(removeBody, body));
      },
      "/passkey/update-passkey": async ({ body = {} }) => {
        await requirePasskeyOf(database, signedInUser());
        return await findOwn(parseOrThrow(renameBody, body));
      },
    },
    after: {
      [SIGN_IN_OPTIONS]: (endpoint) =>
        endpoint.json({ ...(endpoint.context.returned as object), userVerification: "required" }),
      [REGISTER]: async ({ context: { returned } }) => {
        const { name } = returned as { name: string };
        const { user, sessionId } = signedInUser();
        await database.transactional(async (em, tx) => {
          // The user has entered the password, and proved the new passkey.
          const session = { id: sessionId, provider: null };
          if (user.requiresTwoFactor && !user.hasTwoFactor)
            await em.nativeUpdate(UserSession, session, { provider: PASSKEY_SESSION });
          await recordChange(context, tx, { name, isAdded: true });
        });
      },
      [REMOVE]: () =>
        database.transaction((tx) =>
          recordChange(context, tx, { name: String(authRequest().passkey?.name), isAdded: false }),
        ),
    },
  };
}

async function requireFresh({ clock, database }: AccountContext): Promise<void> {
  const principal = signedInUser();
  await requirePasskeyOf(database, principal);
  requireFreshAuthentication(principal, clock.now());
}

async function requireRoom(context: AccountContext): Promise<void> {
  await requireFresh(context);
  const own = { user: signedInUser().user.id };
  if ((await context.database.em().count(UserPasskey, own)) >= MAX_PASSKEYS)
    throw new AppError("ConflictException", `You have ${MAX_PASSKEYS} passkeys. Remove one first.`);
}

/** Finds the user's passkey of the body. */
async function findOwn<Body extends { readonly id: string }>(body: Body) {
  const request = authRequest();
  const own = { id: body.id, user: signedInUser().user.id };
  request.passkey = await request.em.findOne(UserPasskey, own);
  if (!request.passkey) throw new AppError("NotFoundException", "You have no such passkey");
  return { context: { body } };
}

async function recordChange(
  { mails, pageUrl }: AccountContext,
  tx: Transaction,
  { name, isAdded }: { name: string; isAdded: boolean },
): Promise<void> {
  await recordOwnEvent(tx, isAdded ? "passkey.added" : "passkey.removed", { passkey: name });
  const url = pageUrl(FORGOTTEN_PASSWORD_PATH);
  await mails.enqueue(tx, passkeyChangedMail(signedInUser().user.email, { name, isAdded, url }));
}

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
