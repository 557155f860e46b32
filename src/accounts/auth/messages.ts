/** Our words for better-auth's errors. */
import { APIError } from "better-auth/api";

type Status = ConstructorParameters<typeof APIError>[0];

/** The same for an unknown e-mail address and a wrong password. */
const WRONG_CREDENTIALS = ["UNAUTHORIZED", "The e-mail address or password is wrong"] as const;
const WRONG_CODE = ["UNAUTHORIZED", "That code is wrong or was already used"] as const;
const TWO_FACTOR_OFF = ["CONFLICT", "Two-factor authentication is off"] as const;

const messages: Readonly<Record<string, readonly [Status, string]>> = {
  INVALID_EMAIL_OR_PASSWORD: WRONG_CREDENTIALS,
  INVALID_EMAIL: WRONG_CREDENTIALS,
  PASSWORD_TOO_LONG: WRONG_CREDENTIALS,
  INVALID_PASSWORD: ["BAD_REQUEST", "This is not your password"],
  INVALID_CODE: WRONG_CODE,
  INVALID_BACKUP_CODE: WRONG_CODE,
  INVALID_TWO_FACTOR_COOKIE: [
    "UNAUTHORIZED",
    "You took too long to enter the code. Sign in again with your password.",
  ],
  TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE: [
    "UNAUTHORIZED",
    "Too many wrong codes. Sign in again with your password.",
  ],
  ACCOUNT_TEMPORARILY_LOCKED: ["TOO_MANY_REQUESTS", "Too many wrong codes. Try again in 15 minutes."],
  TOTP_ALREADY_ENABLED: ["CONFLICT", "Two-factor authentication is already on"],
  TOTP_NOT_ENABLED: ["CONFLICT", "Start setting up two-factor authentication first"],
  TWO_FACTOR_NOT_ENABLED: TWO_FACTOR_OFF,
  BACKUP_CODES_NOT_ENABLED: TWO_FACTOR_OFF,
};

export function wrongCodeError(): APIError {
  const [status, message] = WRONG_CODE;
  return new APIError(status, { code: "INVALID_CODE", message });
}

/** Returns the error as the console and other clients see it. */
export function translate(error: APIError): APIError {
  // The library has no code for two requests that used the same recovery code.
  const code = error.body?.code ?? (error.statusCode === 409 ? "INVALID_BACKUP_CODE" : undefined);
  const known = code === undefined ? undefined : messages[code];
  if (!known) return error;
  const [status, message] = known;
  return new APIError(status, { code: String(code), message }, error.headers);
}
