/** The problems of all parts of a request, for one 400 that lists them. */
import { AppError, badRequest, type Problem } from "../../platform/errors.ts";

/**
 * Returns what `read` returns. `read` stops at the first part of the request that is wrong; if it throws a 400, `all` is asked
 * for the problems of every part, and one BadRequestException lists them. A request without problems never asks.
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

/** The problems that each of `reads` throws, in their order. */
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
  const isRefusal = error instanceof AppError && error.code === "BadRequestException";
  return isRefusal && Array.isArray(error.details) ? (error.details as Problem[]) : [];
}
