/** The typed IDs of nodes. */
import { fromTypedId, type IdPrefix } from "../../../core/ids.ts";

/** Returns the UUID of a node. The ID of a node is always valid. */
export function uuidOf(prefix: IdPrefix, id: string): string {
  return fromTypedId(prefix, id) as string;
}
