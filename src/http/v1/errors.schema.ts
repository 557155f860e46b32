/** The error responses of v1, as zod: one envelope for all error codes. */
import { z } from "zod";
import { errorCodes, type ErrorCode, type Problem } from "../../platform/errors.ts";

/**
 * A code whose list may grow. OpenAPI describes it as text, so that generated clients accept a code that they don't
 * know; the codes of today are in `x-extensible-enum` and in the description.
 */
export function extensibleEnum<Code extends string>(codes: readonly Code[], description: string) {
  return z.enum(codes).meta({
    type: "string",
    "x-extensible-enum": [...codes],
    description: `${description}. More may be added. Now: ${codes.map((code) => `\`${code}\``).join(", ")}.`,
    examples: [codes[0]],
  });
}

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

/** The description of `details`, the one member whose type depends on the code. */
const DETAILS_DESCRIPTION =
  "More about the error, by code. `BadRequestException`: a list of `Problem` objects, or null. " +
  "`PreconditionFailedException`: `{current_etag}`, the ETag that the job has now. " +
  "`GoneException`: `{oldest_cursor}`, the oldest cursor from which the feed continues. Other codes: null.";

/** The envelope of every failed request. */
export function errorEnvelopeSchema(requestId: z.ZodType<string>) {
  const error = z
    .object({
      code: extensibleEnum(errorCodes, "The error code, for programs"),
      message: z.string().meta({
        description: "The error message, for people; its wording may change",
        examples: ["Delivery job not found"],
      }),
      details: z.unknown().meta({ description: DETAILS_DESCRIPTION }),
    })
    .meta({ id: "ErrorObject", description: "What went wrong." });
  return z
    .object({
      request_id: requestId,
      success: z.boolean().meta({ description: "Always false" }),
      data: z.null().meta({ type: ["object", "null"], description: "Always null" }),
      error,
    })
    .meta({ id: "ErrorEnvelope", description: "The answer to a request that failed." });
}
