/** The members of a new API key in a request. */
import { z } from "zod";
import { parseCidr } from "../core/cidr.ts";
import { organizationTypes } from "../core/principal.ts";
import { dateTimeParameter, extensibleEnum, mustBe } from "../operations/schemas.ts";
import { organizationModes } from "../organizations/api.ts";
import { keyCidrs, keyName, keyScope } from "./view.ts";

const MAX_NAME_LENGTH = 100;
const MAX_CIDRS = 100;

function isCidr(text: string): boolean {
  try {
    return parseCidr(text).text !== "";
  } catch {
    return false;
  }
}

export const newKey = z
  .object({
    name: z
      .string(mustBe("a string"))
      .refine((name) => name.trim() !== "", { error: "must not be empty" })
      .refine((name) => Array.from(name).length <= MAX_NAME_LENGTH, {
        error: `must be at most ${MAX_NAME_LENGTH} characters`,
      })
      .refine((name) => !/\p{Cc}/u.test(name) && name.isWellFormed(), {
        error: "must not contain control characters or lone surrogates",
      })
      .meta({ ...keyName, minLength: 1, maxLength: MAX_NAME_LENGTH }),
    scopes: z
      .array(keyScope, mustBe("a list of scopes"))
      .refine((scopes) => scopes.length > 0, { error: "must name at least one scope" })
      .nullish()
      .meta({
        description:
          "Scopes of the key, at most those of the calling key; null or absent: the same scopes, without `keys:manage`. Required if that is the only one",
        examples: [["jobs:read"]],
      }),
    expiresAt: dateTimeParameter.nullish().meta({
      type: ["string", "null"],
      description:
        "Expiry time, no later than that of the calling key; null or absent: that of the calling key",
      examples: ["2027-11-20T06:30:00Z"],
    }),
    cidrs: z
      .array(
        z
          .string(mustBe("a CIDR range"))
          .refine(isCidr, { error: "must be a CIDR range such as 203.0.113.0/24" }),
        mustBe("a list of CIDR ranges"),
      )
      .refine((ranges) => ranges.length > 0 && ranges.length <= MAX_CIDRS, {
        error: `must be a list of 1 to ${MAX_CIDRS} ranges`,
      })
      .nullish()
      .meta({
        ...keyCidrs,
        description: `${keyCidrs.description}, within those of the calling key; null or absent: those of the calling key`,
      }),
    mode: extensibleEnum(
      organizationModes,
      "`test` creates a test key; null or absent: the mode of the calling key",
    )
      .nullish()
      .meta({ type: ["string", "null"] }),
    organizationType: extensibleEnum(
      organizationTypes,
      "For a test key: the side of test jobs that it sees; null or absent: the type of your organization",
    )
      .nullish()
      .meta({ type: ["string", "null"] }),
  })
  .meta({ id: "ApiKeyInput", description: "A new API key." });

/** Null or absent scopes, expiry and ranges: those of the principal. Scopes then never include `keys:manage`. */
export interface KeyRequest extends Omit<z.output<typeof newKey>, "expiresAt"> {
  readonly expiresAt?: Date | null;
  /** A uuid. Null or absent: the principal's organisation; for an operator, an operator's key. */
  readonly organizationId?: string | null;
}
