/** Helpers for data loaders. */
import DataLoader from "dataloader";
import { toTypedId, type IdPrefix } from "../../platform/ids.ts";
import { alignByKey } from "../../platform/postgres/align-by-key.ts";

/** Creates a loader for UUIDs. `load` must return the values in the order of the IDs. */
export function createLoader<Value>(
  load: (ids: readonly string[]) => Promise<Value[]>,
): DataLoader<string, Value> {
  return new DataLoader(load, { maxBatchSize: 1_000 });
}

/** Returns the nodes in the order of `ids` (UUIDs; nodes have typed IDs), with null for missing ones. */
export function alignToIds<Node extends { readonly id: string }>(
  prefix: IdPrefix,
  ids: readonly string[],
  nodes: readonly Node[],
): (Node | null)[] {
  const typed = ids.map((id) => toTypedId(prefix, id));
  return alignByKey(typed, nodes, (node) => node.id);
}
