/** What an operation selects below a field, so that a resolver can ask for all of it in one statement. */
import {
  getDirectiveValues,
  GraphQLIncludeDirective,
  GraphQLSkipDirective,
  Kind,
  type FieldNode,
  type GraphQLResolveInfo,
  type SelectionNode,
} from "graphql";

export type SelectionInfo = Pick<GraphQLResolveInfo, "fieldNodes" | "fragments" | "variableValues">;

/** Fields by their names (not their aliases), each with all the places where it is selected. */
export type Selection = ReadonlyMap<string, readonly FieldNode[]>;

/** The fields below `nodes` (the field being resolved, unless given), through fragments, as far as @skip and @include let them. */
export function selectionOf(info: SelectionInfo, nodes: readonly FieldNode[] = info.fieldNodes): Selection {
  const fields = new Map<string, FieldNode[]>();
  for (const node of nodes) collectFields(info, node.selectionSet?.selections ?? [], fields);
  return fields;
}

/** The fields of a connection's items, however they are reached: `nodes` or `edges { node }`. */
export function nodeSelection(info: SelectionInfo, connection: Selection): Selection {
  const edges = selectionOf(info, connection.get("edges") ?? []);
  return selectionOf(info, [...(connection.get("nodes") ?? []), ...(edges.get("node") ?? [])]);
}

function collectFields(
  info: SelectionInfo,
  selections: readonly SelectionNode[],
  fields: Map<string, FieldNode[]>,
): void {
  for (const selection of selections) {
    if (!isIncluded(info, selection)) continue;
    if (selection.kind === Kind.FIELD) {
      const nodes = fields.get(selection.name.value);
      if (nodes) nodes.push(selection);
      else fields.set(selection.name.value, [selection]);
    } else {
      const fragment =
        selection.kind === Kind.FRAGMENT_SPREAD ? info.fragments[selection.name.value] : selection;
      collectFields(info, fragment?.selectionSet.selections ?? [], fields);
    }
  }
}

function isIncluded({ variableValues }: SelectionInfo, selection: SelectionNode): boolean {
  if (!selection.directives?.length) return true;
  return (
    getDirectiveValues(GraphQLSkipDirective, selection, variableValues)?.["if"] !== true &&
    getDirectiveValues(GraphQLIncludeDirective, selection, variableValues)?.["if"] !== false
  );
}
