/**
 * better-auth as a library (docs/decisions/0029): its sessions, its password sign-in and its second factor, on our tables.
 * Nobody reaches it but through our services: its HTTP handler is not mounted.
 */
import { betterAuth } from "better-auth";
import { twoFactor } from "better-auth/plugins";
import type { ConnectionLender } from "../platform/lent-connections.ts";
import { newUuid } from "../platform/ids.ts";
import {
  cookieAttributes,
  SECOND_FACTOR_COOKIE,
  SESSION_COOKIE,
  UNUSED_COOKIE_PREFIX,
} from "./auth.cookies.ts";
import { SECRET_VERSION } from "./auth.secret.ts";
import type { PasswordHasher } from "./password.hash.ts";
import { MAX_PASSWORD, MIN_PASSWORD } from "./password.rules.ts";
import { SESSION_LIFETIME_MS } from "./session.verifier.ts";

const ISSUER = "Waymark";
/** The header by which the library is told where a request comes from: we set it, whatever the request says. */
export const ADDRESS_HEADER = "x-waymark-address";
const SECOND_FACTOR_S = 600;

export interface AuthParts {
  connections: ConnectionLender;
  /** At least 32 characters; signs cookies, and encrypts second factors. */
  secret: string;
  hasher: PasswordHasher;
}

export type Auth = ReturnType<typeof createAuth>;

export function createAuth({ connections, secret, hasher }: AuthParts) {
  return betterAuth({
    appName: ISSUER,
    // Nothing is made of it: no link of the library's leaves us.
    baseURL: "http://waymark.invalid",
    // Given as a list, so that no variable of the environment takes its place.
    secrets: [{ version: SECRET_VERSION, value: secret }],
    secret,
    database: { ...connections, end: async () => undefined, options: {} } as never,
    logger: { disabled: true },
    telemetry: { enabled: false },
    rateLimit: { enabled: false },
    emailAndPassword: {
      enabled: true,
      disableSignUp: true,
      minPasswordLength: MIN_PASSWORD,
      maxPasswordLength: MAX_PASSWORD,
      password: {
        hash: (password) => hasher.hash(password),
        verify: ({ hash, password }) => hasher.verify(hash, password),
      },
    },
    ...tables,
    session: {
      ...tables.session,
      expiresIn: SESSION_LIFETIME_MS / 1000,
      // How long it lasts while it is not used, we watch ourselves (session.verifier.ts).
      disableSessionRefresh: true,
      freshAge: 0,
      cookieCache: { enabled: false },
    },
    plugins: [secondFactor],
    advanced: {
      // Its check wants columns for what is never used here; our own tests hold the tables against it.
      database: { generateId: () => newUuid(), validateSchema: false },
      ipAddress: { ipAddressHeaders: [ADDRESS_HEADER] },
      useSecureCookies: false,
      cookiePrefix: UNUSED_COOKIE_PREFIX,
      defaultCookieAttributes: cookieAttributes,
      cookies: { session_token: { name: SESSION_COOKIE }, two_factor: { name: SECOND_FACTOR_COOKIE } },
    },
  });
}

const secondFactor = twoFactor({
  issuer: ISSUER,
  twoFactorCookieMaxAge: SECOND_FACTOR_S,
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

const times = { createdAt: "created_at", updatedAt: "updated_at" };

/** The library's names for what our migration has made. */
const tables = {
  user: {
    modelName: "user_account",
    fields: { ...times, emailVerified: "email_verified" },
  },
  session: {
    modelName: "user_session",
    fields: {
      ...times,
      expiresAt: "expires_at",
      ipAddress: "address",
      userAgent: "user_agent",
      userId: "user_id",
    },
  },
  account: {
    modelName: "user_credential",
    fields: { ...times, accountId: "account_id", providerId: "provider_id", userId: "user_id" },
  },
  verification: {
    modelName: "user_verification",
    fields: { ...times, expiresAt: "expires_at" },
    storeIdentifier: "hashed",
  },
} as const;
