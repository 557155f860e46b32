/** Refusals that a mutation answers with as data. */

interface UserError {
  readonly message: string;
  readonly field?: string | null;
}

/** A mutation was refused, in the server's own words. */
export class UserErrorsError extends Error {
  override readonly name = "RefusedError";
  readonly userErrors: readonly UserError[];
  constructor(userErrors: readonly UserError[]) {
    super(userErrors.map(({ message }) => message).join(" "));
    this.userErrors = userErrors;
  }
}

/** The payload, where nothing was refused; it throws what was, for a dialog or a form to tell. */
export function payloadOrThrow<Payload extends { readonly userErrors: readonly UserError[] }>(
  payload: Payload | null | undefined,
): Payload {
  if (!payload) throw new Error("The server gave no answer");
  if (payload.userErrors.length > 0) throw new UserErrorsError(payload.userErrors);
  return payload;
}

/**
 * What was refused, by the fields of a form that has `values`: `input.name` and `patch.name` are about `name`. What is about
 * none of them stands under a name of its own.
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

/** The label says it already: "name must not be empty" below "Name" becomes "Must not be empty". */
function stripFieldName(message: string, name: string): string {
  if (!message.startsWith(`${name} `)) return message;
  const rest = message.slice(name.length + 1);
  return rest.charAt(0).toUpperCase() + rest.slice(1);
}
