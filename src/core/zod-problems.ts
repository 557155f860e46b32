/** Converts zod's validation errors to the API's problems. */
import type { z } from "zod";
import type { Problem } from "./errors.ts";

/**
 * Returns a problem per issue. Messages are predicates (`must be a number`); `field` is `prefix` and the path (`jobs[3].weight`). A
 * refinement can name its code in `params`.
 */
export function toProblems(error: z.ZodError, location: Problem["location"], prefix = ""): Problem[] {
  return error.issues.map((issue) => ({
    location,
    field: prefix + formatPath(issue.path),
    code:
      issue.code === "custom"
        ? ((issue.params?.["code"] as string | undefined) ?? "invalid_value")
        : issue.code,
    message: issue.message,
  }));
}

function formatPath(path: readonly PropertyKey[]): string {
  return path
    .map((part, index) => (typeof part === "number" ? `[${part}]` : `${index > 0 ? "." : ""}${String(part)}`))
    .join("");
}
