/** The fields selected below a field, so that a resolver can load all of them with one SQL statement. */
import {
  getArgumentValues,
  getNamedType,
  type FieldNode,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
} from "graphql";
import { collectSubfields } from "graphql/execution/collectFields.js";
import { invariant } from "../../../core/errors.ts";

/** The fields of an object type by name (not alias), with fragments expanded and @skip and @include applied. */
export class Selection {
  readonly #info: GraphQLResolveInfo;
  readonly #type: GraphQLObjectType;
  readonly #nodes: ReadonlyMap<string, readonly FieldNode[]>;

  /** The fields below `nodes`. Default: below the field being resolved. */
  constructor(
    info: GraphQLResolveInfo,
    type: GraphQLOutputType = info.returnType,
    nodes: readonly FieldNode[] = info.fieldNodes,
  ) {
    const { schema, fragments, variableValues } = info;
    this.#info = info;
    this.#type = getNamedType(type) as GraphQLObjectType;
    const collected = collectSubfields(schema, fragments, variableValues, this.#type, nodes);
    this.#nodes = Map.groupBy([...collected.values()].flat(), ({ name }) => name.value);
  }

  has(name: string): boolean {
    return this.#nodes.has(name);
  }

  nodes(name: string): readonly FieldNode[] {
    return this.#nodes.get(name) ?? [];
  }

  /** Returns the fields selected below a field, by default by all its nodes. */
  below(name: string, nodes = this.nodes(name)): Selection {
    return new Selection(this.#info, this.#definition(name).type, nodes);
  }

  /** Of a connection: whether its page and its total are selected. */
  get include(): { readonly items: boolean; readonly total: boolean } {
    const items = this.has("nodes") || this.has("edges") || this.has("pageInfo");
    return { items, total: this.has("totalCount") };
  }

  /** Of a connection: returns the fields of its items, selected by `nodes` or by `edges { node }`. */
  items(): Selection {
    return this.below("nodes", [...this.nodes("nodes"), ...this.below("edges").nodes("node")]);
  }

  argumentsOf(node: FieldNode): Record<string, unknown> {
    return getArgumentValues(this.#definition(node.name.value), node, this.#info.variableValues);
  }

  #definition(name: string) {
    const definition = this.#type.getFields()[name];
    invariant(definition, `${this.#type.name} has a field ${name}`);
    return definition;
  }
}
