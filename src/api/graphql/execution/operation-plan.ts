/**
 * The fields that an operation will execute, with fragments expanded and equal fields merged. A plan depends only on the
 * document, so it is cached. Fields under `@skip` and `@include` count as selected.
 */
import {
  __Type,
  getNamedType,
  getOperationAST,
  isAbstractType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  SchemaMetaFieldDef,
  TypeMetaFieldDef,
  visit,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLNamedOutputType,
  type GraphQLObjectType,
  type GraphQLSchema,
  type OperationDefinitionNode,
} from "graphql";
import { collectFields, collectSubfields } from "graphql/execution/collectFields.js";
import { invariant } from "../../../core/errors.ts";

export interface PlannedField {
  /** Path in the response, such as `jobs.nodes.agent`. */
  readonly path: string;
  readonly definition: GraphQLField<unknown, unknown>;
  readonly node: FieldNode;
  readonly type: GraphQLNamedOutputType;
  readonly isList: boolean;
  /** The selected fields for each possible type. Empty for a leaf. */
  readonly possibleSelections: readonly (readonly PlannedField[])[];
}

export interface OperationPlan {
  readonly kind: OperationDefinitionNode["operation"];
  /** Without `__typename` and introspection. */
  readonly rootFields: readonly PlannedField[];
  /** Each `__schema` and `__type` selection. */
  readonly introspection: readonly PlannedField[];
  readonly depth: number;
  readonly aliases: number;
  readonly fieldCount: number;
  readonly hasDirectives: boolean;
  /** The variables that `@skip` and `@include` anywhere in the document depend on. */
  readonly conditionVariables: ReadonlySet<string>;
}

const metaFields = [SchemaMetaFieldDef, TypeMetaFieldDef];

const planCache = new WeakMap<OperationDefinitionNode, OperationPlan>();

/** Returns the plan of an operation that passed validation. */
export function planOf(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
): OperationPlan {
  const cached = planCache.get(operation);
  if (cached) return cached;
  const conditionVariables = new Set<string>();
  const unconditional: DocumentNode = visit(document, {
    Directive({ arguments: conditions = [] }) {
      for (const { value } of conditions)
        if (value.kind === Kind.VARIABLE) conditionVariables.add(value.name.value);
      // Removes the directive.
      return null;
    },
  });
  const selected = getOperationAST(unconditional, operation.name?.value);
  const root = schema.getRootType(operation.operation);
  invariant(selected && root, "the operation is valid");
  const plan = {
    kind: operation.operation,
    hasDirectives: unconditional !== document,
    conditionVariables,
    ...new Planner(schema, unconditional).plan(root, selected),
  };
  planCache.set(operation, plan);
  return plan;
}

/** True if `@skip` or `@include` exclude every root field. */
export function isExcluded(
  schema: GraphQLSchema,
  document: DocumentNode,
  { operation, selectionSet }: OperationDefinitionNode,
  variables: Record<string, unknown>,
): boolean {
  const root = schema.getRootType(operation);
  invariant(root, "the operation is valid");
  return collectFields(schema, fragmentsOf(document), variables, root, selectionSet).size === 0;
}

function fragmentsOf({ definitions }: DocumentNode): Record<string, FragmentDefinitionNode> {
  const fragments = definitions.filter((node) => node.kind === Kind.FRAGMENT_DEFINITION);
  return Object.fromEntries(fragments.map((node) => [node.name.value, node]));
}

type FieldNodesByName = ReadonlyMap<string, readonly FieldNode[]>;

/** Plans the operation of a document without directives. */
class Planner {
  readonly #schema: GraphQLSchema;
  readonly #fragments: Record<string, FragmentDefinitionNode>;
  #depth = 0;
  #aliases = 0;
  #fieldCount = 0;
  readonly #introspection: PlannedField[] = [];

  constructor(schema: GraphQLSchema, document: DocumentNode) {
    this.#schema = schema;
    this.#fragments = fragmentsOf(document);
  }

  plan(root: GraphQLObjectType, { selectionSet }: OperationDefinitionNode) {
    const nodes = collectFields(this.#schema, this.#fragments, {}, root, selectionSet);
    const rootFields = this.#fieldsOf(root, nodes, { path: "", depth: 1 });
    return {
      rootFields,
      introspection: this.#introspection,
      depth: this.#depth,
      aliases: this.#aliases,
      fieldCount: this.#fieldCount,
    };
  }

  #fieldsOf(
    type: GraphQLObjectType,
    nodesByName: FieldNodesByName,
    position: { path: string; depth: number },
  ): PlannedField[] {
    return [...nodesByName].flatMap(([name, nodes]) => {
      const [node] = nodes as [FieldNode];
      if (node.alias) this.#aliases += 1;
      const below = { ...position, path: `${position.path}${name}` };
      const meta = metaFields.find((field) => field.name === node.name.value);
      if (meta) this.#introspection.push(this.#field(meta, nodes, below));
      const definition = type.getFields()[node.name.value];
      return definition ? [this.#field(definition, nodes, below)] : [];
    });
  }

  #field(
    definition: GraphQLField<unknown, unknown>,
    nodes: readonly FieldNode[],
    { path, depth }: { path: string; depth: number },
  ): PlannedField {
    this.#fieldCount += 1;
    const node = nodes[0] as FieldNode;
    const type = getNamedType(definition.type);
    // Tools select long `ofType` chains to unwrap lists and non-nulls. They end with the type, so they add no depth.
    const level = definition.name === "ofType" && type === __Type ? depth - 1 : depth;
    this.#depth = Math.max(this.#depth, level);
    const below = { path: `${path}.`, depth: level + 1 };
    return {
      path,
      definition,
      node,
      type,
      isList: isListType(isNonNullType(definition.type) ? definition.type.ofType : definition.type),
      possibleSelections: this.#possibleTypes(type).map((possible) =>
        this.#fieldsOf(possible, collectSubfields(this.#schema, this.#fragments, {}, possible, nodes), below),
      ),
    };
  }

  #possibleTypes(type: GraphQLNamedOutputType): readonly GraphQLObjectType[] {
    if (isObjectType(type)) return [type];
    return isAbstractType(type) ? this.#schema.getPossibleTypes(type) : [];
  }
}
