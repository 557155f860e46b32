/**
 * better-auth as a library (docs/decisions/0029): its sessions, its password sign-in and its second factor, on our tables.
 * Nobody reaches it but through our services: its HTTP handler is not mounted.
 */
import { betterAuth } from "better-auth";
import { twoFactor } from "better-auth/plugins";
import type { PgPoolAdapter } from "../../platform/postgres/pool-adapter.ts";
import { newUuid } from "../../platform/ids.ts";
import { cookieAttributes, TWO_FACTOR_COOKIE, SESSION_COOKIE, UNUSED_COOKIE_PREFIX } from "./cookies.ts";
import { SECRET_VERSION } from "./secret.ts";
import type { PasswordHasher } from "../passwords/hasher.ts";
import { MAX_PASSWORD_LENGTH, MIN_PASSWORD_LENGTH } from "../passwords/rules.ts";
import { SESSION_LIFETIME_MS } from "../sessions/verifier.ts";

const ISSUER = "Waymark";
/** The header by which the library is told where a request comes from: we set it, whatever the request says. */
export const CLIENT_IP_HEADER = "x-waymark-client-ip";
const TWO_FACTOR_COOKIE_MAX_AGE_S = 600;

export interface AuthDeps {
  pgPool: PgPoolAdapter;
  /** At least 32 characters; signs cookies, and encrypts second factors. */
  secret: string;
  hasher: PasswordHasher;
}

export type BetterAuth = ReturnType<typeof createBetterAuth>;

export function createBetterAuth({ pgPool, secret, hasher }: AuthDeps) {
  return betterAuth({
    appName: ISSUER,
    // Nothing is made of it: no link of the library's leaves us.
    baseURL: "http://waymark.invalid",
    // Given as a list, so that no variable of the environment takes its place.
    secrets: [{ version: SECRET_VERSION, value: secret }],
    secret,
    database: { ...pgPool, end: async () => undefined, options: {} } as never,
    logger: { disabled: true },
    telemetry: { enabled: false },
    rateLimit: { enabled: false },
    emailAndPassword: {
      enabled: true,
      disableSignUp: true,
      minPasswordLength: MIN_PASSWORD_LENGTH,
      maxPasswordLength: MAX_PASSWORD_LENGTH,
      password: {
        hash: (password) => hasher.hash(password),
        verify: ({ hash, password }) => hasher.verify(hash, password),
      },
    },
    ...tableMappings,
    session: {
      ...tableMappings.session,
      expiresIn: SESSION_LIFETIME_MS / 1000,
      // How long it lasts while it is not used, we watch ourselves (session.verifier.ts).
      disableSessionRefresh: true,
      freshAge: 0,
      cookieCache: { enabled: false },
    },
    plugins: [twoFactorPlugin],
    advanced: {
      // Its check wants columns for what is never used here; our own tests hold the tables against it.
      database: { generateId: () => newUuid(), validateSchema: false },
      ipAddress: { ipAddressHeaders: [CLIENT_IP_HEADER] },
      useSecureCookies: false,
      cookiePrefix: UNUSED_COOKIE_PREFIX,
      defaultCookieAttributes: cookieAttributes,
      cookies: { session_token: { name: SESSION_COOKIE }, two_factor: { name: TWO_FACTOR_COOKIE } },
    },
  });
}

const twoFactorPlugin = twoFactor({
  issuer: ISSUER,
  twoFactorCookieMaxAge: TWO_FACTOR_COOKIE_MAX_AGE_S,
  // Ours are made and hashed when they are handed out (two-factor.recovery-codes.ts); the library compares, and uses them up.
  backupCodeOptions: { customBackupCodesGenerate: () => [] },
  schema: {
    user: { fields: { twoFactorEnabled: "two_factor_enabled" } },
    twoFactor: {
      modelName: "user_two_factor",
      fields: {
        secret: "secret",
        backupCodes: "recovery_codes",
        userId: "user_id",
        verified: "verified",
        failedVerificationCount: "failures",
        lockedUntil: "locked_until",
      },
    },
  },
});

const timestampFields = { createdAt: "created_at", updatedAt: "updated_at" };

/** The library's names for what our migration has made. */
const tableMappings = {
  user: {
    modelName: "user_account",
    fields: { ...timestampFields, emailVerified: "email_verified" },
  },
  session: {
    modelName: "user_session",
    fields: {
      ...timestampFields,
      expiresAt: "expires_at",
      ipAddress: "address",
      userAgent: "user_agent",
      userId: "user_id",
    },
  },
  account: {
    modelName: "user_credential",
    fields: { ...timestampFields, accountId: "account_id", providerId: "provider_id", userId: "user_id" },
  },
  verification: {
    modelName: "user_verification",
    fields: { ...timestampFields, expiresAt: "expires_at" },
    storeIdentifier: "hashed",
  },
} as const;
