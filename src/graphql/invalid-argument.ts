/** Wrong use that a resolver meets, as a failure with the argument's name. */
import { badRequest, type AppError } from "../platform/errors.ts";

export function invalidArgument(field: string, message: string, code = "invalid_value"): AppError {
  return badRequest([{ location: "query", field, code, message }]);
}
