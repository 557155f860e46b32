/** Documents made from the schema itself, so that a field that is added is asked for from its first day on. */
import {
  getNamedType,
  isInputObjectType,
  isEnumType,
  isInterfaceType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLSchema,
} from "graphql";

/** Everything below `type`: each field that is asked for without arguments, objects to `depth` more levels; "": nothing. */
export function selectAllFields(type: GraphQLNamedType, depth: number): string {
  if (!isObjectType(type)) throw new Error(`${type.name} cannot be selected from as a whole`);
  const fields = Object.values(type.getFields()).flatMap((field) => {
    const below = getNamedType(field.type);
    if (isLeafType(below)) return [field.name];
    const selection = depth === 0 ? "" : selectAllFields(below, depth - 1);
    return selection === "" ? [] : [`${field.name}${pageArguments(field)} ${selection}`];
  });
  return fields.length === 0 ? "" : `{ ${fields.join(" ")} }`;
}

/** The object types that a field of `type` can give. */
export function possibleObjectTypes(
  schema: GraphQLSchema,
  type: GraphQLNamedType,
): readonly GraphQLObjectType[] {
  return isInterfaceType(type) ? schema.getPossibleTypes(type) : [type as GraphQLObjectType];
}

/** Short pages, so that however much is asked stays within the cost. */
function pageArguments(field: GraphQLField<unknown, unknown>): string {
  return field.args.some(({ name }) => name === "first") ? "(first: 2)" : "";
}

/** Values to try for arguments of the schema's types: literals by the name of the type or of the argument. */
export interface ArgumentLiterals {
  /** By an argument's or input field's name, then by its type's name. */
  literalsFor(name: string, type: string): readonly string[];
}

/**
 * Arguments for `field`: one list for each value that an argument can be tried with, the required ones with their first.
 * Throws where a type is met that nothing is known for: whoever adds one says what a stranger would try.
 */
export function generateArguments(
  field: GraphQLField<unknown, unknown>,
  attempts: ArgumentLiterals,
): string[] {
  const required = field.args.filter(
    ({ type, defaultValue }) => isNonNullType(type) && defaultValue === undefined,
  );
  const lists = field.args.flatMap((argument) =>
    generateLiterals(argument, attempts).map((literal) =>
      [
        `${argument.name}: ${literal}`,
        ...required
          .filter((other) => other !== argument)
          .map((other) => `${other.name}: ${generateLiterals(other, attempts)[0] ?? "null"}`),
      ].join(", "),
    ),
  );
  return lists.length > 0 ? lists.map((list) => `(${list})`) : [""];
}

type Named = Pick<GraphQLArgument, "name" | "type">;

/** `outer`: the inputs that it stands in. One that stands in itself (`and`, `or`, `not`) is tried there with little. */
function generateLiterals(
  { name, type }: Named,
  attempts: ArgumentLiterals,
  outer: readonly string[] = [],
): string[] {
  const inner = isNonNullType(type) ? type.ofType : type;
  if (isListType(inner))
    return generateLiterals({ name, type: inner.ofType }, attempts, outer).map((literal) => `[${literal}]`);
  const named = getNamedType(inner);
  if (isEnumType(named)) return named.getValues().map((value) => value.name);
  if (!isInputObjectType(named)) return [...attempts.literalsFor(name, named.name)];
  const timesInItself = outer.filter((each) => each === named.name).length;
  if (timesInItself > 1) return [];
  const fields = Object.values(named.getFields());
  const literalsFor = (field: Named): string[] => {
    const literals = generateLiterals(field, attempts, [...outer, named.name]);
    return timesInItself > 0 ? literals.slice(0, 1) : literals;
  };
  const required = fields.filter((field) => isNonNullType(field.type));
  return fields.flatMap((field) => {
    const others = required
      .filter((other) => other !== field)
      .map((other) => `${other.name}: ${literalsFor(other)[0] ?? "null"}`);
    return literalsFor(field).map((literal) => `{ ${[...others, `${field.name}: ${literal}`].join(", ")} }`);
  });
}
