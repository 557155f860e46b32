/**
 * Configures better-auth as a library for sessions, password sign-in and two-factor authentication, on our own tables
 * (docs/decisions/0029). Its HTTP handler is not mounted: only our services call it.
 */
import { betterAuth } from "better-auth";
import { twoFactor } from "better-auth/plugins";
import type { Database } from "../../core/postgres/database.ts";
import { newUuid } from "../../core/ids.ts";
import { cookieAttributes, TWO_FACTOR_COOKIE, SESSION_COOKIE, UNUSED_COOKIE_PREFIX } from "./cookies.ts";
import { SECRET_VERSION } from "./secret.ts";
import type { PasswordHasher } from "../passwords/hasher.ts";
import { MAX_PASSWORD_LENGTH, MIN_PASSWORD_LENGTH } from "../passwords/rules.ts";
import { SESSION_LIFETIME_MS } from "../sessions/entity.ts";

const ISSUER = "Waymark";
/** Passes the client's IP address to the library. We always set it, so clients can't forge it. */
export const CLIENT_IP_HEADER = "x-waymark-client-ip";
const TWO_FACTOR_COOKIE_MAX_AGE_S = 600;

export type BetterAuth = ReturnType<typeof createBetterAuth>;

/** `secret`: at least 32 characters. Signs cookies, and encrypts TOTP secrets and recovery codes. */
export function createBetterAuth({
  pgPool,
  secret,
  hasher,
}: {
  pgPool: ReturnType<Database["asPgPool"]>;
  secret: string;
  hasher: PasswordHasher;
}) {
  return betterAuth({
    appName: ISSUER,
    // Unused: we send none of the library's links.
    baseURL: "http://waymark.invalid",
    // As a list, so that the library doesn't read it from an environment variable.
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
      // sessions/verifier.ts enforces the idle timeout.
      disableSessionRefresh: true,
      freshAge: 0,
      cookieCache: { enabled: false },
    },
    plugins: [twoFactorPlugin],
    advanced: {
      // The library's check requires columns that we don't use. Our own tests check the tables.
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
  // two-factor/recovery-codes.ts generates and hashes the codes; the library compares them and removes used ones.
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

/** Maps the library's model names to our tables and columns. */
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
      ipAddress: "ip_address",
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
