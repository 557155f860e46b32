/** What v1 answers with when it fails, as zod: one schema for each code of the error table. */
import { z } from "zod";
import type { ErrorCode, Problem } from "../../platform/errors.ts";

/** Codes that one item of a batch can fail with while the request as a whole succeeds. */
export const itemErrorCodes = [
  "BadRequestException",
  "NotFoundException",
  "UnprocessableEntityException",
  "InternalServerErrorException",
] as const satisfies readonly ErrorCode[];

export const problemSchema = z
  .strictObject({
    location: z.enum(["body", "query", "path", "header"]).meta({ description: "The part of the request" }),
    field: z.string().meta({
      description: "The parameter or member, as a path; empty: the body as a whole",
      examples: ["jobs[3].weight"],
    }),
    code: z.string().meta({ description: "What is wrong, for programs", examples: ["invalid_type"] }),
    message: z.string().meta({ description: "What is wrong, for people", examples: ["must be a number or null"] }),
  })
  .meta({ id: "Problem", description: "One thing that is wrong with a request, and where." }) satisfies z.ZodType<Problem>;
