/** Errors for invalid arguments that resolvers find, and arguments that several resolvers parse. */
import { badRequest, type AppError } from "../../core/errors.ts";
import { fromTypedId } from "../../core/ids.ts";

export function invalidArgument(field: string, message: string): AppError {
  return badRequest([{ location: "query", field, code: "invalid_value", message }]);
}

/** Returns the UUID of an organisation ID. Throws BadRequestException for another ID. `path` is the argument's path. */
export function organizationUuid(path: string, id: string): string {
  const uuid = fromTypedId("org", id);
  if (uuid === null) throw invalidArgument(path, `must be an organisation ID, got ${JSON.stringify(id)}`);
  return uuid;
}
