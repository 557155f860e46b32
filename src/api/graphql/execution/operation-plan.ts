/**
 * The fields that an operation will execute, with fragments expanded and equal fields merged. A plan depends only on the
 * document, so it is cached. Fields under `@skip` and `@include` count as selected.
 */
import {
  __Type,
  getArgumentValues,
  getNamedType,
  GraphQLError,
  isAbstractType,
  isLeafType,
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
  type GraphQLOutputType,
  type GraphQLSchema,
  type OperationDefinitionNode,
  type SelectionSetNode,
  type ValueNode,
} from "graphql";

export interface PlannedField {
  /** Path in the response, such as `jobs.nodes.agent`. */
  readonly path: string;
  readonly definition: GraphQLField<unknown, unknown>;
  readonly node: FieldNode;
  readonly type: GraphQLNamedOutputType;
  readonly isList: boolean;
  /** The argument values, or null if they depend on a variable. */
  readonly fixedArguments: Readonly<Record<string, unknown>> | null;
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
  /** True if any argument depends on a variable. */
  readonly usesVariables: boolean;
  /** The variables that `@skip` and `@include` anywhere in the document depend on. */
  readonly conditionVariables: readonly string[];
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
  const plan = new Planner(schema, document).plan(operation);
  planCache.set(operation, plan);
  return plan;
}

function conditionVariablesOf(document: DocumentNode): string[] {
  const names = new Set<string>();
  visit(document, {
    Directive: ({ arguments: conditions = [] }) => {
      for (const { value } of conditions) if (value.kind === Kind.VARIABLE) names.add(value.name.value);
    },
  });
  return [...names];
}

class Planner {
  readonly #schema: GraphQLSchema;
  readonly #fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  #depth = 0;
  #aliases = 0;
  #fieldCount = 0;
  readonly #introspection: PlannedField[] = [];
  #usesVariables = false;
  readonly #conditionVariables: readonly string[];

  constructor(schema: GraphQLSchema, document: DocumentNode) {
    const { definitions } = document;
    this.#schema = schema;
    this.#conditionVariables = conditionVariablesOf(document);
    this.#fragments = new Map(
      definitions.flatMap((node) =>
        node.kind === Kind.FRAGMENT_DEFINITION ? [[node.name.value, node] as const] : [],
      ),
    );
  }

  plan({ operation: kind, selectionSet }: OperationDefinitionNode): OperationPlan {
    const root = this.#schema.getRootType(kind);
    if (!root) throw new GraphQLError(`The schema has no ${kind} type`);
    const rootFields = this.#fieldsOf(root, [selectionSet], { path: "", depth: 1 });
    return {
      kind,
      rootFields,
      introspection: this.#introspection,
      depth: this.#depth,
      aliases: this.#aliases,
      fieldCount: this.#fieldCount,
      usesVariables: this.#usesVariables,
      conditionVariables: this.#conditionVariables,
    };
  }

  #fieldsOf(
    type: GraphQLObjectType,
    selections: readonly SelectionSetNode[],
    position: { path: string; depth: number },
  ): PlannedField[] {
    return [...this.#collectFields(type, selections)].flatMap(([name, nodes]) => {
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
    // Tools select long `ofType` chains to unwrap lists and non-nulls. They end with the type, so they add no depth.
    const level = isOfType(definition) ? depth - 1 : depth;
    this.#depth = Math.max(this.#depth, level);
    const type = getNamedType(definition.type);
    const selections = nodes.flatMap(({ selectionSet }) => selectionSet ?? []);
    const below = { path: `${path}.`, depth: level + 1 };
    return {
      path,
      definition,
      node,
      type,
      isList: isListOutput(definition.type),
      fixedArguments: this.#fixedArguments(definition, node),
      possibleSelections: this.#possibleTypes(type).map((possible) =>
        this.#fieldsOf(possible, selections, below),
      ),
    };
  }

  #collectFields(type: GraphQLObjectType, selections: readonly SelectionSetNode[]): FieldNodesByName {
    const nodesByName: FieldNodesByName = new Map();
    const seenFragments = new Set<string>();
    for (const selection of selections) this.#collectInto(type, selection, { nodesByName, seenFragments });
    return nodesByName;
  }

  /** Like execution, expands each fragment once per selection set. */
  #collectInto(type: GraphQLObjectType, { selections }: SelectionSetNode, into: CollectedFields): void {
    for (const selection of selections) {
      if (selection.kind === Kind.FIELD) {
        const name = selection.alias?.value ?? selection.name.value;
        const nodes = into.nodesByName.get(name);
        if (nodes) nodes.push(selection);
        else into.nodesByName.set(name, [selection]);
      } else if (selection.kind === Kind.INLINE_FRAGMENT) {
        if (this.#typeApplies(type, selection.typeCondition?.name.value))
          this.#collectInto(type, selection.selectionSet, into);
      } else if (!into.seenFragments.has(selection.name.value)) {
        into.seenFragments.add(selection.name.value);
        const fragment = this.#fragments.get(selection.name.value);
        if (fragment && this.#typeApplies(type, fragment.typeCondition.name.value))
          this.#collectInto(type, fragment.selectionSet, into);
      }
    }
  }

  #typeApplies(type: GraphQLObjectType, condition: string | undefined): boolean {
    if (condition === undefined || condition === type.name) return true;
    const conditional = this.#schema.getType(condition);
    return isAbstractType(conditional) && this.#schema.isSubType(conditional, type);
  }

  #possibleTypes(type: GraphQLNamedOutputType): readonly GraphQLObjectType[] {
    if (isLeafType(type)) return [];
    return isObjectType(type) ? [type] : this.#schema.getPossibleTypes(type);
  }

  #fixedArguments(
    definition: GraphQLField<unknown, unknown>,
    node: FieldNode,
  ): Readonly<Record<string, unknown>> | null {
    const usesVariable = (node.arguments ?? []).some(({ value }) => containsVariable(value));
    if (!usesVariable) return getArgumentValues(definition, node);
    this.#usesVariables = true;
    return null;
  }
}

type FieldNodesByName = Map<string, FieldNode[]>;

interface CollectedFields {
  readonly nodesByName: FieldNodesByName;
  /** Fragments that are already expanded. */
  readonly seenFragments: Set<string>;
}

function isOfType({ name, type }: GraphQLField<unknown, unknown>): boolean {
  return name === "ofType" && getNamedType(type) === __Type;
}

function isListOutput(type: GraphQLOutputType): boolean {
  return isListType(isNonNullType(type) ? type.ofType : type);
}

/** True if the value contains a variable at any depth. */
function containsVariable(value: ValueNode): boolean {
  if (value.kind === Kind.VARIABLE) return true;
  if (value.kind === Kind.LIST) return value.values.some(containsVariable);
  return value.kind === Kind.OBJECT && value.fields.some((field) => containsVariable(field.value));
}
