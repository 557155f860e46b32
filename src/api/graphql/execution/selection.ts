/** The fields selected below a field, so that a resolver can load all of them with one SQL statement. */
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

/** Field nodes by field name (not alias). */
export type Selection = ReadonlyMap<string, readonly FieldNode[]>;

/** Returns the fields below `nodes` (default: the field being resolved), with fragments expanded and @skip and @include applied. */
export function selectionOf(info: SelectionInfo, nodes: readonly FieldNode[] = info.fieldNodes): Selection {
  const fields = new Map<string, FieldNode[]>();
  for (const node of nodes) collectFields(info, node.selectionSet?.selections ?? [], fields);
  return fields;
}

/** Returns the fields of a connection's items, selected by `nodes` or by `edges { node }`. */
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
