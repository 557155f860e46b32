/**
 * Replaces each argument that contains a nested variable (`filter: {status: {eq: $status}}`) by one new variable. graphql-js
 * computes the new variable's value from the original ones before the operation runs.
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
  /** Name of the new variable. */
  readonly name: string;
  readonly type: GraphQLInputType;
  readonly value: ValueNode;
}

type Values = Readonly<Record<string, unknown>>;

/** Returns the document with the new variables, which it does not declare, and the replaced arguments. */
export function hoistArguments(
  schema: GraphQLSchema,
  document: DocumentNode,
): { document: DocumentNode; hoisted: readonly HoistedArgument[] } {
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
  return { document: visit(document, visitWithTypeInfo(typeInfo, visitor)), hoisted };
}

/** Returns the coerced `variables` plus the new ones, or null if a replaced argument has no valid value. */
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
  let prefix = "hoisted";
  visit(document, {
    Variable({ name }) {
      while (name.value.startsWith(prefix)) prefix += "_";
    },
  });
  return prefix;
}
