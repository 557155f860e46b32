/** Calls better-auth: builds its request headers and converts its errors to AppErrors. */
import { APIError } from "better-auth/api";
import { AppError, badRequest } from "../../core/errors.ts";
import { CLIENT_IP_HEADER } from "./better-auth.ts";
import { notSignedInError } from "../sessions/session-principal.ts";
import { pickAuthCookies } from "./cookies.ts";
import type { ClientInfo } from "./client-info.ts";

const MAX_USER_AGENT_LENGTH = 300;

/** The library's result, and its `Set-Cookie` texts. */
export interface AuthResult<T> {
  readonly result: T;
  readonly cookies: string[];
}

/** `call` must pass `returnHeaders`. Throws an AppError for each known error code; `overrides` take precedence. */
export async function callBetterAuth<T>(
  call: () => Promise<{ headers: Headers; response: T }>,
  overrides: ErrorsByCode = {},
): Promise<AuthResult<T>> {
  try {
    const { headers, response } = await call();
    return { result: response, cookies: pickAuthCookies(headers) };
  } catch (error) {
    throw toAppError(error, { ...defaultErrors, ...overrides });
  }
}

/** `cookie`: the request's Cookie header, or undefined if the library must not see it. */
export function authHeaders({ ipAddress, userAgent }: ClientInfo, cookie?: string): Headers {
  const headers = new Headers({ [CLIENT_IP_HEADER]: ipAddress });
  // Users recognise their sessions by it, so it must be printable.
  const printableUserAgent = userAgent?.replaceAll(/[^\x20-\x7e]/g, "").slice(0, MAX_USER_AGENT_LENGTH);
  if (printableUserAgent) headers.set("user-agent", printableUserAgent);
  if (cookie !== undefined) headers.set("cookie", cookie);
  return headers;
}

/** The same error for an unknown e-mail address and a wrong password. */
export function wrongCredentialsError(): AppError {
  return new AppError("UnauthorizedException", "The e-mail address or password is wrong");
}

export function wrongPasswordError(field = "password"): AppError {
  return badRequest([{ location: "body", field, code: "invalid_value", message: "is not your password" }]);
}

/** By the library's codes. */
type ErrorsByCode = Readonly<Record<string, () => AppError>>;

const defaultErrors: ErrorsByCode = {
  INVALID_EMAIL_OR_PASSWORD: wrongCredentialsError,
  INVALID_EMAIL: wrongCredentialsError,
  PASSWORD_TOO_LONG: wrongCredentialsError,
  INVALID_PASSWORD: () => wrongPasswordError(),
  INVALID_CODE: wrongCodeError,
  INVALID_BACKUP_CODE: wrongCodeError,
  INVALID_TWO_FACTOR_COOKIE: () =>
    new AppError(
      "UnauthorizedException",
      "You took too long to enter the code. Sign in again with your password.",
    ),
  TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE: () =>
    new AppError("UnauthorizedException", "Too many wrong codes. Sign in again with your password."),
  ACCOUNT_TEMPORARILY_LOCKED: () =>
    new AppError("TooManyRequestsException", "Too many wrong codes. Try again in 15 minutes.", {
      headers: { "Retry-After": "900" },
    }),
  TOTP_ALREADY_ENABLED: () => new AppError("ConflictException", "Two-factor authentication is already on"),
  TOTP_NOT_ENABLED: () =>
    new AppError("ConflictException", "Start setting up two-factor authentication first"),
  TWO_FACTOR_NOT_ENABLED: () => new AppError("ConflictException", "Two-factor authentication is off"),
};

export function wrongCodeError(): AppError {
  return new AppError("UnauthorizedException", "That code is wrong or was already used");
}

function toAppError(error: unknown, errorsByCode: ErrorsByCode): unknown {
  if (!(error instanceof APIError)) return error;
  const createError = errorsByCode[String(error.body?.code)];
  if (createError) return createError();
  if (error.statusCode === 401) return notSignedInError();
  // Two concurrent requests used the same recovery code.
  if (error.statusCode === 409) return wrongCodeError();
  return error;
}
