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

/** Returns the literals that are tried for an argument or input field. */
type LiteralsOf = (named: Named) => string[];

/**
 * Returns one list per argument or input field and literal, with the first literal of each other one of `required`.
 * `attempts.literalsFor` should throw for a type without literals, so that new types are not forgotten.
 */
function combine(
  all: readonly Named[],
  required: readonly Named[],
  { literalsOf, firstOf }: { literalsOf: LiteralsOf; firstOf: LiteralsOf },
): string[] {
  return all.flatMap((one) =>
    literalsOf(one).map((literal) =>
      [
        ...required
          .filter((other) => other !== one)
          .map((other) => `${other.name}: ${firstOf(other)[0] ?? "null"}`),
        `${one.name}: ${literal}`,
      ].join(", "),
    ),
  );
}

const isRequired = ({ type, defaultValue }: Named): boolean =>
  isNonNullType(type) && defaultValue === undefined;

/** Returns argument lists for `field`: one per argument and literal, with each other required argument. */
export function generateArguments(
  { args }: GraphQLField<unknown, unknown>,
  attempts: ArgumentLiterals,
): string[] {
  const literalsOf: LiteralsOf = (argument) => generateLiterals(argument, attempts);
  const lists = combine(args, args.filter(isRequired), { literalsOf, firstOf: literalsOf });
  return lists.length > 0 ? lists.map((list) => `(${list})`) : [""];
}

type Named = Pick<GraphQLArgument, "name" | "type"> & { defaultValue?: unknown };

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
  const literalsOf: LiteralsOf = (field) => {
    const literals = generateLiterals(field, attempts, [...outer, named.name]);
    return recursionDepth > 0 ? literals.slice(0, 1) : literals;
  };
  const required = fields.filter((field) => isNonNullType(field.type));
  return combine(fields, required, { literalsOf, firstOf: literalsOf }).map((list) => `{ ${list} }`);
}

/** Returns argument lists for `field`: one for each argument and input field that may be null, with null. */
export function generateNulls(
  { args }: GraphQLField<unknown, unknown>,
  attempts: ArgumentLiterals,
): string[] {
  return combine(args, args.filter(isRequired), {
    literalsOf: (argument) => nullsIn(argument, attempts, []),
    firstOf: (argument) => generateLiterals(argument, attempts),
  });
}

function nullsIn({ name, type }: Named, attempts: ArgumentLiterals, outer: readonly string[]): string[] {
  const inner = isNonNullType(type) ? type.ofType : type;
  const own = isNonNullType(type) ? [] : ["null"];
  if (isListType(inner))
    return [...own, ...nullsIn({ name, type: inner.ofType }, attempts, outer).map((each) => `[${each}]`)];
  const named = getNamedType(inner);
  if (!isInputObjectType(named) || outer.includes(named.name)) return own;
  const fields = Object.values(named.getFields());
  const inside = combine(fields, fields.filter(isRequired), {
    literalsOf: (field) => nullsIn(field, attempts, [...outer, named.name]),
    firstOf: (field) => generateLiterals(field, attempts),
  });
  return [...own, ...inside.map((list) => `{ ${list} }`)];
}
