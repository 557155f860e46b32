/** Handles `userErrors`: rejections that a mutation returns as data. */

interface UserError {
  readonly message: string;
  readonly field?: string | null;
}

/** A mutation was rejected. The message joins the server's messages. */
export class UserErrorsError extends Error {
  override readonly name = "UserErrorsError";
  readonly userErrors: readonly UserError[];
  constructor(userErrors: readonly UserError[]) {
    super(userErrors.map(({ message }) => message).join(" "));
    this.userErrors = userErrors;
  }
}

/** Returns the payload. Throws a UserErrorsError if it has errors, and an Error if there is no payload. */
export function payloadOrThrow<Payload extends { readonly userErrors: readonly UserError[] }>(
  payload: Payload | null | undefined,
): Payload {
  if (!payload) throw new Error("The server returned no data");
  if (payload.userErrors.length > 0) throw new UserErrorsError(payload.userErrors);
  return payload;
}

/**
 * Messages by form field: `input.name` and `patch.name` belong to `name`. Errors about no field of `values` keep
 * their own path as key.
 */
export function userErrorsByField(error: unknown, values: object): Record<string, string> {
  if (!(error instanceof UserErrorsError)) return {};
  const byField: Record<string, string> = {};
  for (const { field, message } of error.userErrors) {
    const name = field?.split(".").find((part) => Object.hasOwn(values, part));
    byField[name ?? field ?? ""] ??= name === undefined ? message : stripFieldName(message, name);
  }
  return byField;
}

/** Drops the field name, which the label shows: "name must not be empty" becomes "Must not be empty". */
function stripFieldName(message: string, name: string): string {
  if (!message.startsWith(`${name} `)) return message;
  const rest = message.slice(name.length + 1);
  return rest.charAt(0).toUpperCase() + rest.slice(1);
}
