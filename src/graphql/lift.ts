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
import { holdsVariable } from "./plan.ts";

export interface LiftedArgument {
  /** Of the variable in its place. */
  readonly name: string;
  readonly type: GraphQLInputType;
  readonly value: ValueNode;
}

type Values = Readonly<Record<string, unknown>>;

/** The document with the variables in place; they are not declared. */
export function liftArguments(
  schema: GraphQLSchema,
  document: DocumentNode,
): { document: DocumentNode; lifted: readonly LiftedArgument[] } {
  const prefix = unusedPrefix(document);
  const lifted: LiftedArgument[] = [];
  const typeInfo = new TypeInfo(schema);
  const lift = {
    Argument: {
      leave(node: { readonly value: ValueNode }) {
        const type = typeInfo.getArgument()?.type;
        if (node.value.kind === Kind.VARIABLE || !type || !holdsVariable(node.value)) return undefined;
        const name = `${prefix}${lifted.length}`;
        lifted.push({ name, type, value: node.value });
        return { ...node, value: { kind: Kind.VARIABLE, name: { kind: Kind.NAME, value: name } } };
      },
    },
  };
  return { document: visit(document, visitWithTypeInfo(typeInfo, lift)), lifted };
}

/** `variables` (coerced) and those that were lifted; null where they make no value for one of these. */
export function withLifted(lifted: readonly LiftedArgument[], variables: Values): Values | null {
  if (lifted.length === 0) return variables;
  const all: Record<string, unknown> = { ...variables };
  for (const { name, type, value } of lifted) {
    const made: unknown = valueFromAST(value, type, variables);
    if (made === undefined) return null;
    all[name] = made;
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
