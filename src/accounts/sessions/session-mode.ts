/** The data that a request of the console asks for: live, one side of the organisation's test data, or that of a partner. */
import { badRequest, type Problem } from "../../core/errors.ts";

/** `test` is the side of the organisation's own type; `partner` the organisation that the operator of the session views. */
const sessionModes = ["live", "test", "test:agent", "test:contractor", "partner"] as const;
export type SessionMode = (typeof sessionModes)[number];

/** The header of requests and the member of `connection_init`. Absent: live. */
export const SESSION_MODE_HEADER = "x-waymark-mode";

/** Returns the mode that `value` names, by default live. Throws BadRequestException about `field` for another value. */
export function parseSessionMode(
  value: unknown,
  { location, field }: Pick<Problem, "location" | "field"> = {
    location: "header",
    field: SESSION_MODE_HEADER,
  },
): SessionMode {
  if (value === undefined || value === null) return "live";
  const mode = sessionModes.find((each) => each === value);
  if (mode) return mode;
  const message = `must be one of ${sessionModes.join(", ")}`;
  throw badRequest([{ location, field, code: "invalid_value", message }]);
}
