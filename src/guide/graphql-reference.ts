/** The definitions of the GraphQL schema, grouped into the pages of the reference. */
import {
  astFromValue,
  isAbstractType,
  isEnumType,
  isInputObjectType,
  isInputType,
  isInterfaceType,
  isIntrospectionType,
  isObjectType,
  isScalarType,
  print,
  printType,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLSchema,
  type GraphQLType,
} from "graphql";
import { rootFieldSections, type GuideSection } from "./api-sections.ts";
import { referenceFiles } from "./contents.ts";
import { typeSectionOf } from "./type-sections.ts";

export type ReferenceKind = keyof typeof referenceFiles;

/** A field, an argument or an enum value. */
export interface Member {
  /** Id in the page, such as `Job.history.first`. */
  id: string;
  name: string;
  /** Null for an enum value. */
  type: GraphQLType | null;
  description: string;
  deprecation: string | null;
  /** As written in the schema, such as `20`; null if there is none. */
  defaultValue: string | null;
  arguments: Member[];
}

/** A type, or a root field. */
export interface Definition {
  /** Id in the page: its name. */
  id: string;
  description: string;
  deprecation: string | null;
  /** Type of the result of a root field; null for a type. */
  type: GraphQLType | null;
  /** Interfaces that an object type implements. */
  interfaces: readonly GraphQLNamedType[];
  /** Types that an interface or union can be. */
  possibleTypes: readonly GraphQLNamedType[];
  specifiedByUrl: string | null;
  /** The section of the guide that explains it; null if there is none. */
  section: GuideSection | null;
  /** Arguments of a root field, fields of a type, or values of an enum. */
  members: Member[];
}

export interface ReferencePage {
  kind: ReferenceKind;
  title: string;
  description: string;
  /** In the order of the schema for root fields, else by name. */
  definitions: Definition[];
  /** The same definitions in the schema definition language. */
  sdl: string;
}

const TITLES: Readonly<Record<ReferenceKind, [title: string, description: string]>> = {
  queries: ["Query reference", "Every query of the GraphQL schema, with its arguments, defaults and result."],
  mutations: [
    "Mutation reference",
    "Every mutation of the GraphQL schema, with its arguments, scopes and payload.",
  ],
  subscriptions: [
    "Subscription reference",
    "Every subscription of the GraphQL schema, with its arguments and result.",
  ],
  objects: ["Objects", "The types that queries, mutations and subscriptions return, with all their fields."],
  inputs: ["Input objects", "The types of arguments that have fields of their own."],
  enums: ["Enums", "The enum types with their values. Responses may get new values later."],
  interfaces: ["Interfaces and unions", "Types that stand for one of several object types."],
  scalars: ["Scalars", "The types of single values, and how each one is written."],
};

/** Returns the pages of the reference in the order of the contents. */
export function readReference(schema: GraphQLSchema): ReferencePage[] {
  const types = Object.values(schema.getTypeMap())
    .filter((type) => !isIntrospectionType(type))
    .toSorted((a, b) => a.name.localeCompare(b.name, "en"));
  const roots = {
    queries: schema.getQueryType(),
    mutations: schema.getMutationType(),
    subscriptions: schema.getSubscriptionType(),
  };
  const isRoot = (type: GraphQLNamedType): boolean => Object.values(roots).some((root) => root === type);
  const kinds: Readonly<Record<Exclude<ReferenceKind, keyof typeof roots>, GraphQLNamedType[]>> = {
    objects: types.filter((type) => isObjectType(type) && !isRoot(type)),
    inputs: types.filter(isInputObjectType),
    enums: types.filter(isEnumType),
    interfaces: types.filter(isAbstractType),
    scalars: types.filter(isScalarType),
  };
  return (Object.keys(referenceFiles) as ReferenceKind[]).map((kind) => {
    const [title, description] = TITLES[kind];
    if (kind in kinds) {
      const members = kinds[kind as keyof typeof kinds];
      const definitions = members.map((type) => toDefinition(type, schema));
      return { kind, title, description, definitions, sdl: members.map(printType).join("\n\n") };
    }
    const root = roots[kind as keyof typeof roots];
    const fields = Object.values(root?.getFields() ?? {}).map(toRootField);
    return { kind, title, description, definitions: fields, sdl: root ? printType(root) : "" };
  });
}

function toRootField(field: GraphQLField<unknown, unknown>): Definition {
  return {
    id: field.name,
    description: field.description ?? "",
    deprecation: field.deprecationReason ?? null,
    type: field.type,
    interfaces: [],
    possibleTypes: [],
    specifiedByUrl: null,
    section: rootFieldSections[field.name] ?? null,
    members: field.args.map((argument) => toMember(field.name, argument)),
  };
}

function toDefinition(type: GraphQLNamedType, schema: GraphQLSchema): Definition {
  return {
    id: type.name,
    description: type.description ?? "",
    deprecation: null,
    type: null,
    interfaces: isObjectType(type) ? type.getInterfaces() : [],
    possibleTypes: isAbstractType(type) ? schema.getPossibleTypes(type) : [],
    specifiedByUrl: isScalarType(type) ? (type.specifiedByURL ?? null) : null,
    section: typeSectionOf(type, schema),
    members: membersOf(type),
  };
}

function membersOf(type: GraphQLNamedType): Member[] {
  if (isEnumType(type))
    return type.getValues().map((value) => toMember(type.name, { ...value, type: undefined }));
  const hasFields = isObjectType(type) || isInterfaceType(type) || isInputObjectType(type);
  const fields: Readonly<Record<string, Source>> = hasFields ? type.getFields() : {};
  return Object.values(fields).map((field) => toMember(type.name, field));
}

interface Source {
  name: string;
  type?: GraphQLType | undefined;
  description?: string | null | undefined;
  deprecationReason?: string | null | undefined;
  defaultValue?: unknown;
  args?: readonly GraphQLArgument[];
}

function toMember(parent: string, source: Source): Member {
  const id = `${parent}.${source.name}`;
  return {
    id,
    name: source.name,
    type: source.type ?? null,
    description: source.description ?? "",
    deprecation: source.deprecationReason ?? null,
    defaultValue: defaultOf(source),
    arguments: (source.args ?? []).map((argument) => toMember(id, argument)),
  };
}

function defaultOf({ defaultValue, type }: Source): string | null {
  if (defaultValue === undefined || !isInputType(type)) return null;
  const value = astFromValue(defaultValue, type);
  return value ? print(value) : null;
}
