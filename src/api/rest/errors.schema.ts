/** Codes and problems of the error responses of v1, as zod. */
import { z } from "zod";
import type { ErrorCode, Problem } from "../../core/errors.ts";
import { extensibleEnum } from "../../operations/schemas.ts";

/** Codes that one item of a batch can fail with while the request as a whole succeeds. */
export const itemErrorCodes = [
  "BadRequestException",
  "NotFoundException",
  "UnprocessableEntityException",
  "InternalServerErrorException",
] as const satisfies readonly ErrorCode[];

export const problemSchema = z
  .object({
    location: extensibleEnum(["body", "query", "path", "header"], "The part of the request"),
    field: z.string().meta({
      description: "Path of the parameter or member; empty for the whole body",
      examples: ["jobs[3].weight"],
    }),
    code: z
      .string()
      .meta({ description: "Machine-readable code of the problem", examples: ["invalid_type"] }),
    message: z.string().meta({
      description: "Human-readable description of the problem",
      examples: ["must be a number or null"],
    }),
  })
  .meta({
    id: "Problem",
    description: "A problem of a request, with its location.",
  }) satisfies z.ZodType<Problem>;
