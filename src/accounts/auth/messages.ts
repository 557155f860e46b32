/** Our words for better-auth's errors. */
import { APIError } from "better-auth/api";
import { AppError } from "../../core/errors.ts";

const WRONG_CODE = "That code is wrong or was already used";
const UNKNOWN_PASSKEY = "This passkey is not accepted. Sign in another way, or choose another passkey.";
const TWO_FACTOR_OFF = "Two-factor authentication is off";

const messages: Readonly<Record<string, string>> = {
  // The same for an unknown e-mail address and a wrong password.
  INVALID_EMAIL_OR_PASSWORD: "The e-mail address or password is wrong",
  INVALID_PASSWORD: "This is not your password",
  INVALID_CODE: WRONG_CODE,
  INVALID_BACKUP_CODE: WRONG_CODE,
  INVALID_TWO_FACTOR_COOKIE: "You took too long to enter the code. Sign in again with your password.",
  TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE: "Too many wrong codes. Sign in again with your password.",
  ACCOUNT_TEMPORARILY_LOCKED: "Too many wrong codes. Try again in 15 minutes.",
  TOTP_ALREADY_ENABLED: "Two-factor authentication is already on",
  TOTP_NOT_ENABLED: "Start setting up two-factor authentication first",
  TWO_FACTOR_NOT_ENABLED: TWO_FACTOR_OFF,
  BACKUP_CODES_NOT_ENABLED: TWO_FACTOR_OFF,
  AUTHENTICATION_FAILED: UNKNOWN_PASSKEY,
  PASSKEY_NOT_FOUND: UNKNOWN_PASSKEY,
  CHALLENGE_NOT_FOUND: "This took too long, or was already used. Start again.",
  FAILED_TO_VERIFY_REGISTRATION: "This passkey can't be added. Start again.",
};

export const ssoRequiredError = () =>
  new APIError("FORBIDDEN", {
    code: "SSO_REQUIRED",
    message: "Your account signs in with single sign-on, not with a password or passkey",
  });

/** Returns the error as the console and other clients see it. */
export function translate(error: APIError): Error {
  // The library has no code for two requests that used the same recovery code.
  const code = error.body?.code ?? (error.statusCode === 409 ? "INVALID_BACKUP_CODE" : "");
  const message = messages[code];
  if (message === undefined) return error;
  // A 500 of the library, whose status an APIError would not replace.
  if (code === "FAILED_TO_VERIFY_REGISTRATION") return new AppError("BadRequestException", message);
  const headers = code === "ACCOUNT_TEMPORARILY_LOCKED" ? { "Retry-After": "900" } : error.headers;
  return new APIError(error.status, { code, message }, headers);
}

/** Returns the library's error 401 with this code, in our words. */
export function refusal(
  code: "INVALID_CODE" | "INVALID_EMAIL_OR_PASSWORD" | "INVALID_TWO_FACTOR_COOKIE",
): APIError {
  return new APIError("UNAUTHORIZED", { code, message: String(messages[code]) });
}
