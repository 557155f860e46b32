/**
 * Arguments that hold a variable somewhere within (`filter: {status: {eq: $status}}`), lifted: each becomes a variable of its
 * own, whose value is made of the others by graphql-js's own rules before the operation runs.
 */
import {
  Kind,
  TypeInfo,
  valueFromAST,
  visit,
  visitWithTypeInfo,
  type DocumentNode,
  type GraphQLInputType,
  type GraphQLSchema,
  type ValueNode,
} from "graphql";
import { containsVariable } from "./operation-plan.ts";

export interface HoistedArgument {
  /** Of the variable in its place. */
  readonly name: string;
  readonly type: GraphQLInputType;
  readonly value: ValueNode;
}

type Values = Readonly<Record<string, unknown>>;

/** The document with the variables in place; they are not declared. */
export function hoistArguments(
  schema: GraphQLSchema,
  document: DocumentNode,
): { document: DocumentNode; lifted: readonly HoistedArgument[] } {
  const prefix = unusedPrefix(document);
  const hoisted: HoistedArgument[] = [];
  const typeInfo = new TypeInfo(schema);
  const visitor = {
    Argument: {
      leave(node: { readonly value: ValueNode }) {
        const type = typeInfo.getArgument()?.type;
        if (node.value.kind === Kind.VARIABLE || !type || !containsVariable(node.value)) return undefined;
        const name = `${prefix}${hoisted.length}`;
        hoisted.push({ name, type, value: node.value });
        return { ...node, value: { kind: Kind.VARIABLE, name: { kind: Kind.NAME, value: name } } };
      },
    },
  };
  return { document: visit(document, visitWithTypeInfo(typeInfo, visitor)), lifted: hoisted };
}

/** `variables` (coerced) and those that were lifted; null where they make no value for one of these. */
export function withHoisted(hoisted: readonly HoistedArgument[], variables: Values): Values | null {
  if (hoisted.length === 0) return variables;
  const all: Record<string, unknown> = { ...variables };
  for (const { name, type, value } of hoisted) {
    const coerced: unknown = valueFromAST(value, type, variables);
    if (coerced === undefined) return null;
    all[name] = coerced;
  }
  return all;
}

function unusedPrefix(document: DocumentNode): string {
  let prefix = "lifted";
  visit(document, {
    Variable({ name }) {
      while (name.value.startsWith(prefix)) prefix += "_";
    },
  });
  return prefix;
}
