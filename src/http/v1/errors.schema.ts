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

const DETAILS_DESCRIPTION =
  "Details of the error, depending on the code. `BadRequestException`: a list of `Problem` objects, or null. " +
  "`PreconditionFailedException`: `{current_etag}`, the current ETag of the job. " +
  "`GoneException`: `{oldest_cursor}`, the oldest valid cursor of the feed. Other codes: null.";

/** The envelope of every failed request. */
export function errorEnvelopeSchema(requestId: z.ZodType<string>) {
  const error = z
    .object({
      code: extensibleEnum(errorCodes, "Machine-readable error code"),
      message: z.string().meta({
        description: "Human-readable error message; its wording may change",
        examples: ["Delivery job not found"],
      }),
      details: z.unknown().meta({ description: DETAILS_DESCRIPTION }),
    })
    .meta({ id: "ErrorObject", description: "The error of a failed request." });
  return z
    .object({
      request_id: requestId,
      success: z.boolean().meta({ description: "Always false" }),
      data: z.null().meta({ type: ["object", "null"], description: "Always null" }),
      error,
    })
    .meta({ id: "ErrorEnvelope", description: "The response to a failed request." });
}
