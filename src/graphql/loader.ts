/** What every loader is made of. */
import DataLoader from "dataloader";
import { toTypedId, type IdPrefix } from "../platform/ids.ts";
import { inOrder } from "../platform/in-order.ts";

/** Answers in the order of the ids (uuids). */
export function loader<Value>(load: (ids: readonly string[]) => Promise<Value[]>): DataLoader<string, Value> {
  return new DataLoader(load, { maxBatchSize: 1_000 });
}

/** `ids` are uuids; nodes have typed ids. */
export function ofIds<Node extends { readonly id: string }>(
  prefix: IdPrefix,
  ids: readonly string[],
  nodes: readonly Node[],
): (Node | null)[] {
  const typed = ids.map((id) => toTypedId(prefix, id));
  return inOrder(typed, nodes, (node) => node.id);
}
