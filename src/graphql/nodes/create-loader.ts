/** What every loader is made of. */
import DataLoader from "dataloader";
import { toTypedId, type IdPrefix } from "../../platform/ids.ts";
import { alignByKey } from "../../platform/postgres/align-by-key.ts";

/** Answers in the order of the ids (uuids). */
export function createLoader<Value>(
  load: (ids: readonly string[]) => Promise<Value[]>,
): DataLoader<string, Value> {
  return new DataLoader(load, { maxBatchSize: 1_000 });
}

/** `ids` are uuids; nodes have typed ids. */
export function alignToIds<Node extends { readonly id: string }>(
  prefix: IdPrefix,
  ids: readonly string[],
  nodes: readonly Node[],
): (Node | null)[] {
  const typed = ids.map((id) => toTypedId(prefix, id));
  return alignByKey(typed, nodes, (node) => node.id);
}
