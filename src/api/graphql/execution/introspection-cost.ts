/**
 * The cost of introspection: the number of values in the response, counted by walking the schema. That is much faster than
 * building the response with graphql-js, and counting stops at the limit.
 */
import { getArgumentValues, isLeafType, type GraphQLResolveInfo, type GraphQLSchema } from "graphql";
import { limits, tooExpensive } from "./limits.ts";
import type { PlannedField } from "./operation-plan.ts";

/** Schema values are in memory, so 20 of them cost 1. The standard introspection query costs about seven tenths of the limit. */
const VALUES_PER_POINT = 20;
const MAX_VALUES = limits.cost * VALUES_PER_POINT;

const TOO_MANY_VALUES = `The fields below __schema or __type cost more than ${limits.cost}. Select fewer of them`;

type Values = Readonly<Record<string, unknown>>;

/** Returns the cost. Throws a GraphQLError as soon as it exceeds the limit. */
export function introspectionCost(
  schema: GraphQLSchema,
  fields: readonly PlannedField[],
  variables: Values,
): number {
  let count = 0;

  const visitAll = (selected: readonly PlannedField[], source: unknown): void => {
    for (const field of selected) visit(field, source);
  };

  const visit = (field: PlannedField, source: unknown): void => {
    const { definition, node, type, isList } = field;
    count += 1;
    if (count > MAX_VALUES) throw tooExpensive("cost", limits.cost + 1, TOO_MANY_VALUES);
    if (isLeafType(type) && !isList) return;
    const values = getArgumentValues(definition, node, variables);
    // Introspection resolvers read only `schema` from the info.
    const info = { schema } as GraphQLResolveInfo;
    const value: unknown = definition.resolve?.(source, values, undefined, info);
    const items = Array.isArray(value) ? value : value === null || value === undefined ? [] : [value];
    count += isList ? items.length : 0;
    for (const item of items) visitAll(field.possibleSelections[0] ?? [], item);
  };

  visitAll(fields, undefined);
  return Math.ceil(count / VALUES_PER_POINT);
}
