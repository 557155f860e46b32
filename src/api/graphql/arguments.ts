/** Arguments that several resolvers parse. */
import { invalidArgument } from "../../core/errors.ts";
import { fromTypedId } from "../../core/ids.ts";

/** Returns the UUID of an organisation ID. Throws BadRequestException for another ID. `path` is the argument's path. */
export function organizationUuid(path: string, id: string): string {
  const uuid = fromTypedId("org", id);
  if (uuid === null) throw invalidArgument(path, `must be an organisation ID, got ${JSON.stringify(id)}`);
  return uuid;
}
