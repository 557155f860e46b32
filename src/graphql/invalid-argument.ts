/** The error for an invalid argument that a resolver finds. */
import { badRequest, type AppError } from "../platform/errors.ts";

export function invalidArgument(field: string, message: string, code = "invalid_value"): AppError {
  return badRequest([{ location: "query", field, code, message }]);
}
