/** Deprecations in GraphQL: `@deprecated` in the SDL, and which of them an operation uses. */
import {
  getNamedType,
  isInputObjectType,
  Kind,
  parse,
  print,
  separateOperations,
  TypeInfo,
  typeFromAST,
  visit,
  visitWithTypeInfo,
  type ConstDirectiveNode,
  type DocumentNode,
  type GraphQLInputType,
  type GraphQLSchema,
  type OperationDefinitionNode,
} from "graphql";
import { describeDeprecation, type Deprecation } from "../deprecations/api.ts";

type ByCoordinate = ReadonlyMap<string, Deprecation>;

function byCoordinate(deprecations: readonly Deprecation[]): ByCoordinate {
  return new Map(
    deprecations.flatMap((each): [string, Deprecation][] =>
      "coordinate" in each.target ? [[each.target.coordinate, each]] : [],
    ),
  );
}

/** Returns the SDL with `@deprecated` where the registry says so. Throws if it lacks what a deprecation names. */
export function withDeprecatedDirectives(sdl: string, deprecations: readonly Deprecation[]): string {
  const coordinates = byCoordinate(deprecations);
  if (coordinates.size === 0) return sdl;
  const found = new Set<string>();
  const mark = <Node extends { directives?: readonly ConstDirectiveNode[] }>(
    node: Node,
    coordinate: string,
  ): Node => {
    const deprecation = coordinates.get(coordinate);
    if (!deprecation) return node;
    found.add(coordinate);
    return { ...node, directives: [...(node.directives ?? []), directiveOf(deprecation)] };
  };
  const marked: DocumentNode = visit(parse(sdl), {
    ObjectTypeDefinition: {
      leave: (type) => ({
        ...type,
        fields: type.fields?.map((field) => ({
          ...mark(field, `${type.name.value}.${field.name.value}`),
          arguments: field.arguments?.map((argument) =>
            mark(argument, `${type.name.value}.${field.name.value}(${argument.name.value}:)`),
          ),
        })),
      }),
    },
    InputObjectTypeDefinition: {
      leave: (type) => ({
        ...type,
        fields: type.fields?.map((field) => mark(field, `${type.name.value}.${field.name.value}`)),
      }),
    },
    EnumTypeDefinition: {
      leave: (type) => ({
        ...type,
        values: type.values?.map((value) => mark(value, `${type.name.value}.${value.name.value}`)),
      }),
    },
  });
  const missing = [...coordinates.keys()].filter((coordinate) => !found.has(coordinate));
  if (missing.length > 0) throw new Error(`The SDL has no ${missing.join(", ")}, which deprecations name`);
  return print(marked);
}

function directiveOf(deprecation: Deprecation): ConstDirectiveNode {
  return {
    kind: Kind.DIRECTIVE,
    name: { kind: Kind.NAME, value: "deprecated" },
    arguments: [
      {
        kind: Kind.ARGUMENT,
        name: { kind: Kind.NAME, value: "reason" },
        value: { kind: Kind.STRING, value: describeDeprecation(deprecation) },
      },
    ],
  };
}

export type FindDeprecations = (
  document: DocumentNode,
  operation: OperationDefinitionNode,
  variables: Readonly<Record<string, unknown>>,
) => readonly Deprecation[];

/** Returns a function that lists what an operation and its variables use; null if nothing of GraphQL is deprecated. */
export function createDeprecationFinder(
  schema: GraphQLSchema,
  deprecations: readonly Deprecation[],
): FindDeprecations | null {
  const coordinates = byCoordinate(deprecations);
  if (coordinates.size === 0) return null;
  // The document decides everything but the variables, so it is visited once.
  const cache = new WeakMap<OperationDefinitionNode, ReadonlySet<string>>();
  return (document, operation, variables) => {
    const inDocument = cache.get(operation) ?? coordinatesIn(schema, document, operation);
    cache.set(operation, inDocument);
    const inVariables = (operation.variableDefinitions ?? []).flatMap(({ type, variable }) =>
      coordinatesOfValue(typeFromAST(schema, type as never), variables[variable.name.value]),
    );
    return [...new Set([...inDocument, ...inVariables])].flatMap((each) => coordinates.get(each) ?? []);
  };
}

function coordinatesIn(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
): ReadonlySet<string> {
  const used = new Set<string>();
  const types = new TypeInfo(schema);
  const own = separateOperations(document)[operation.name?.value ?? ""] ?? document;
  visit(
    own,
    visitWithTypeInfo(types, {
      Field: ({ name }) => void used.add(`${types.getParentType()?.name}.${name.value}`),
      Argument: ({ name }) =>
        void used.add(`${types.getParentType()?.name}.${types.getFieldDef()?.name}(${name.value}:)`),
      ObjectField: ({ name }) =>
        void used.add(`${String(getNamedType(types.getParentInputType()))}.${name.value}`),
      EnumValue: ({ value }) => void used.add(`${String(getNamedType(types.getInputType()))}.${value}`),
    }),
  );
  return used;
}

/** Returns the coordinates of the input fields and enum values in the value of a variable. */
function coordinatesOfValue(type: unknown, value: unknown): string[] {
  const named = getNamedType(type as GraphQLInputType);
  if (Array.isArray(value)) return value.flatMap((item) => coordinatesOfValue(named, item));
  if (typeof value === "string") return [`${String(named)}.${value}`];
  if (!isInputObjectType(named) || typeof value !== "object" || value === null) return [];
  const fields = named.getFields();
  return Object.entries(value).flatMap(([name, inner]) => [
    `${named.name}.${name}`,
    ...coordinatesOfValue(fields[name]?.type, inner),
  ]);
}
