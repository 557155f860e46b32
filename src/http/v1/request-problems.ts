/** Collects the problems of all parts of a request for one 400 response. */
import { AppError, badRequest, type Problem } from "../../platform/errors.ts";

/**
 * Returns the result of `read`, which stops at the first invalid part of the request. If it throws a 400 with problems,
 * throws a BadRequestException with the problems of all parts, from `findAllProblems`.
 */
export async function withAllProblems<Value>(
  read: () => Value,
  findAllProblems: () => Promise<readonly Problem[]>,
): Promise<Value> {
  try {
    return read();
  } catch (error) {
    const firstProblems = problemsOf(error);
    const problems = firstProblems.length === 0 ? [] : await findAllProblems();
    throw problems.length > firstProblems.length ? badRequest(problems) : error;
  }
}

/** Returns the problems that `reads` throw, in order. */
export function problemsIn(...reads: readonly (() => unknown)[]): Problem[] {
  return reads.flatMap((read) => {
    try {
      read();
      return [];
    } catch (error) {
      return problemsOf(error);
    }
  });
}

function problemsOf(error: unknown): readonly Problem[] {
  const isBadRequest = error instanceof AppError && error.code === "BadRequestException";
  return isBadRequest && Array.isArray(error.details) ? (error.details as Problem[]) : [];
}
