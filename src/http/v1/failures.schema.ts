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
    message: z
      .string()
      .meta({ description: "What is wrong, for people", examples: ["must be a number or null"] }),
  })
  .meta({
    id: "Problem",
    description: "One thing that is wrong with a request, and where.",
  }) satisfies z.ZodType<Problem>;

const details = {
  BadRequestException: z
    .array(problemSchema)
    .nullable()
    .meta({ description: "Every problem found; null where there is only the message to say" }),
  PreconditionFailedException: z.strictObject({
    current_etag: z.string().meta({ description: "The ETag that the job has now", examples: ['"5"'] }),
  }),
};

/** The envelope around one error code: `request_id` is the id that every answer has. */
export function failureSchema(code: ErrorCode, requestId: z.ZodType<string>) {
  return z
    .strictObject({
      request_id: requestId,
      success: z.literal(false),
      data: z.null(),
      error: z.strictObject({
        code: z.literal(code),
        message: z.string().meta({ description: "What is wrong, for people; not for programs to compare" }),
        details: code in details ? details[code as keyof typeof details] : z.null(),
      }),
    })
    .meta({ id: code });
}
