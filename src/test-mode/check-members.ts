/** Errors of request members. */
import { type AppError, badRequest } from "../core/errors.ts";

export function assertInRange(
  field: string,
  value: number,
  { min, max }: { min: number; max: number },
): void {
  if (value < min || value > max)
    throw invalidMember(field, "out_of_range", `must be a whole number from ${min} to ${max}`);
}

export function invalidMember(field: string, code: string, message: string): AppError {
  return badRequest([{ location: "body", field, code, message }]);
}
