/** Generates GraphQL documents from the schema, so that tests cover new fields automatically. */
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

/**
 * Returns a selection set of all fields of `type`, with objects nested up to `depth` levels, or "" if there is none to
 * select. Connections get `first: 2`, other fields no arguments.
 */
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

/** Returns the object types that a field of `type` can return. */
export function possibleObjectTypes(
  schema: GraphQLSchema,
  type: GraphQLNamedType,
): readonly GraphQLObjectType[] {
  return isInterfaceType(type) ? schema.getPossibleTypes(type) : [type as GraphQLObjectType];
}

/** Uses small pages, so that the operation stays within the cost limit. */
function pageArguments(field: GraphQLField<unknown, unknown>): string {
  return field.args.some(({ name }) => name === "first") ? "(first: 2)" : "";
}

/** Literals to try for arguments. */
export interface ArgumentLiterals {
  /** Returns the literals for an argument or input field, by its name and its type's name. */
  literalsFor(name: string, type: string): readonly string[];
}

/**
 * Returns argument lists for `field`: one per argument and literal, with the first literal of each other required argument.
 * `attempts.literalsFor` should throw for a type without literals, so that new types are not forgotten.
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

/** `outer` lists the enclosing input types. Recursive inputs (`and`, `or`, `not`) get one literal per field at the inner level. */
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
  const recursionDepth = outer.filter((each) => each === named.name).length;
  if (recursionDepth > 1) return [];
  const fields = Object.values(named.getFields());
  const literalsFor = (field: Named): string[] => {
    const literals = generateLiterals(field, attempts, [...outer, named.name]);
    return recursionDepth > 0 ? literals.slice(0, 1) : literals;
  };
  const required = fields.filter((field) => isNonNullType(field.type));
  return fields.flatMap((field) => {
    const others = required
      .filter((other) => other !== field)
      .map((other) => `${other.name}: ${literalsFor(other)[0] ?? "null"}`);
    return literalsFor(field).map((literal) => `{ ${[...others, `${field.name}: ${literal}`].join(", ")} }`);
  });
}

/** Returns argument lists for `field`: one for each argument and input field that may be null, with null. */
export function generateNulls(field: GraphQLField<unknown, unknown>, attempts: ArgumentLiterals): string[] {
  const required = field.args.filter(
    ({ type, defaultValue }) => isNonNullType(type) && defaultValue === undefined,
  );
  return field.args.flatMap((argument) =>
    nullsIn(argument, attempts, []).map((literal) =>
      [
        `${argument.name}: ${literal}`,
        ...required
          .filter((other) => other !== argument)
          .map((other) => `${other.name}: ${generateLiterals(other, attempts)[0] ?? "null"}`),
      ].join(", "),
    ),
  );
}

function nullsIn({ name, type }: Named, attempts: ArgumentLiterals, outer: readonly string[]): string[] {
  const inner = isNonNullType(type) ? type.ofType : type;
  const own = isNonNullType(type) ? [] : ["null"];
  if (isListType(inner))
    return [
      ...own,
      ...nullsIn({ name, type: inner.ofType }, attempts, outer).map((literal) => `[${literal}]`),
    ];
  const named = getNamedType(inner);
  if (!isInputObjectType(named) || outer.includes(named.name)) return own;
  const fields = Object.values(named.getFields());
  const required = fields.filter((field) => isNonNullType(field.type) && field.defaultValue === undefined);
  const inside = fields.flatMap((field) => {
    const others = required
      .filter((other) => other !== field)
      .map((other) => `${other.name}: ${generateLiterals(other, attempts)[0] ?? "null"}`);
    return nullsIn(field, attempts, [...outer, named.name]).map(
      (literal) => `{ ${[...others, `${field.name}: ${literal}`].join(", ")} }`,
    );
  });
  return [...own, ...inside];
}
