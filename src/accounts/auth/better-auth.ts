/** Configures better-auth on our own tables: sessions, password sign-in and two-factor authentication (docs/decisions/0029). */
import { betterAuth } from "better-auth";
import { twoFactor } from "better-auth/plugins";
import { CamelCasePlugin, Kysely, PostgresDialect } from "kysely";
import { newUuid } from "../../core/ids.ts";
import { pathPrefix } from "../../core/public-url.ts";
import { MAX_PASSWORD_LENGTH } from "../passwords/rules.ts";
import { SESSION_LIFETIME_MS } from "../sessions/entity.ts";
import { AUTH_PATH, CLIENT_IP_HEADER } from "./auth-request.ts";
import { cookieAttributes, COOKIE_PREFIX, SESSION_COOKIE, TWO_FACTOR_COOKIE } from "./cookies.ts";
import type { AccountContext } from "../context.ts";
import { waymarkPlugin } from "./hooks.ts";
import { SsoHooks } from "../sso/hooks.ts";
import { passkeyPlugin } from "../passkeys/plugin.ts";
import { SECRET_VERSION } from "./secret.ts";

/** `authSecret`: at least 32 characters. Signs cookies, and encrypts TOTP secrets and recovery codes. */
export function createBetterAuth(context: AccountContext) {
  const { database, hasher, authSecret, publicUrl } = context;
  const sso = new SsoHooks(context);
  const pool = { ...database.asPgPool(), end: async () => undefined, options: {} };
  const dialect = new PostgresDialect({ pool: pool as never });
  const db = new Kysely({ dialect, plugins: [new CamelCasePlugin()] });
  return betterAuth({
    // Also the issuer that authenticator apps show.
    appName: "Waymark",
    // Null: of each request.
    ...(publicUrl !== null && { baseURL: `${publicUrl}${AUTH_PATH}` }),
    basePath: AUTH_PATH,
    // As a list, so that the library doesn't read it from an environment variable.
    secrets: [{ version: SECRET_VERSION, value: authSecret }],
    secret: authSecret,
    // Our endpoints use transactions only to use up a verification, which is one statement anyway.
    database: { db, type: "postgres", transaction: false },
    logger: { disabled: true },
    telemetry: { enabled: false },
    // Its spans would have values.
    experimental: { instrumentation: { enabled: false } },
    // Our own limits hold across processes and spare known browsers (docs/decisions/0053).
    rateLimit: { enabled: false },
    onAPIError: { throw: true, errorURL: `${pathPrefix(publicUrl)}/sign-in` },
    emailAndPassword: {
      enabled: true,
      disableSignUp: true,
      maxPasswordLength: MAX_PASSWORD_LENGTH,
      password: {
        hash: (password) => hasher.hash(password),
        verify: ({ hash, password }) => hasher.verify(hash, password),
      },
    },
    user: { modelName: "user_account", validateUserInfo: sso.admit },
    account: { modelName: "user_credential", updateAccountOnSignIn: false },
    session,
    verification,
    // Ours is the last, so that its hooks see what the others decided.
    plugins: [twoFactorPlugin, passkeyPlugin, waymarkPlugin(context, sso)],
    advanced: {
      // The library's check requires columns that we don't use. Our own tests check the tables.
      database: { generateId: () => newUuid(), validateSchema: false },
      ipAddress: { ipAddressHeaders: [CLIENT_IP_HEADER] },
      // Our routes check that the request comes from a page of ours (core/same-origin.ts).
      disableCSRFCheck: true,
      useSecureCookies: false,
      cookiePrefix: COOKIE_PREFIX,
      defaultCookieAttributes: cookieAttributes,
      cookies: { session_token: { name: SESSION_COOKIE }, two_factor: { name: TWO_FACTOR_COOKIE } },
    },
  });
}

const twoFactorPlugin = twoFactor({
  schema: {
    twoFactor: {
      modelName: "user_two_factor",
      fields: { backupCodes: "recoveryCodes", failedVerificationCount: "failures" },
    },
  },
});

/** Set by our hook only. */
const ownField = { required: false, input: false } as const;

const session = {
  modelName: "user_session",
  additionalFields: {
    epoch: { ...ownField, type: "string", returned: false },
    provider: { ...ownField, type: "string", returned: false },
    lastSeenAt: { ...ownField, type: "date" },
    authenticatedAt: { ...ownField, type: "date" },
  },
  expiresIn: SESSION_LIFETIME_MS / 1000,
  // sessions/verifier.ts enforces the idle timeout and freshness.
  disableSessionRefresh: true,
  freshAge: 0,
} as const;

const verification = {
  modelName: "user_verification",
  additionalFields: { epoch: { ...ownField, type: "string" } },
  storeIdentifier: "hashed",
  // purgeAccountData deletes the expired ones.
  disableCleanup: true,
} as const;
