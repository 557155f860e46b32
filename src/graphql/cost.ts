/**
 * What an operation costs, in objects that it may have to make: an object 1, a scalar nothing, a page of a connection its
 * size times its item, however the item is reached (`nodes` or `edges { node }`). Pages and lists are checked on the way.
 */
import {
  getArgumentValues,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  isRequiredArgument,
  OperationTypeNode,
  type GraphQLArgument,
  type GraphQLNamedOutputType,
  type GraphQLSchema,
} from "graphql";
import { badRequest, type Problem } from "../platform/errors.ts";
import { inputProblems } from "./input-check.ts";
import { introspectionCost } from "./introspection-cost.ts";
import { DEFAULT_PAGE_SIZE, limits, MAX_VARIABLE_ERRORS } from "./limits.ts";
import type { OperationPlan, PlannedField } from "./plan.ts";

/** Counting all that matches is dearer than reading a page of it. */
const TOTAL_COUNT = 20;
/** Aggregates over all that match, whatever is selected of them. */
const STATS = 50;

type Values = Readonly<Record<string, unknown>>;

const fixedCosts = new WeakMap<OperationPlan, number>();

/**
 * Throws BadRequestException for a page or a list beyond its limits, and GraphQLError for an argument that is null and must
 * not be, and for introspection beyond the limit.
 */
export function costOf(schema: GraphQLSchema, plan: OperationPlan, variables: Values): number {
  const fixed = fixedCosts.get(plan);
  if (fixed !== undefined) return fixed;
  const count = new Count(plan.kind === OperationTypeNode.MUTATION, variables);
  const cost = count.all(plan.rootFields) + introspectionCost(schema, plan.introspection, variables);
  if (count.problems.length > 0) throw badRequest(count.problems);
  if (!plan.usesVariables) fixedCosts.set(plan, cost);
  return cost;
}

class Count {
  readonly problems: Problem[] = [];
  readonly #isMutation: boolean;
  readonly #variables: Values;

  constructor(isMutation: boolean, variables: Values) {
    this.#isMutation = isMutation;
    this.#variables = variables;
  }

  all(fields: readonly PlannedField[]): number {
    let sum = 0;
    for (const field of fields) sum += this.#one(field);
    return sum;
  }

  #one(field: PlannedField): number {
    const { definition, node, type } = field;
    if (isLeafType(type) && definition.args.length === 0) return 0;
    const values = field.fixedArguments ?? getArgumentValues(definition, node, this.#variables);
    this.#checkLists(field, values);
    if (isLeafType(type)) return 0;
    if (isConnection(type)) return this.#connection(field, this.#pageSize(field, values));
    if (type.name === "JobStats") return STATS;
    return this.#object(field, values);
  }

  #object(field: PlannedField, values: Values): number {
    const below = this.#below(field);
    const items = field.definition.args.find(isListOfItems);
    const count = items ? lengthOf(values[items.name]) : 1;
    return field.isList ? count * (1 + below) : 1 + count * below;
  }

  /** The dearest of the types that it may turn out to be. */
  #below({ alternatives }: PlannedField): number {
    return alternatives.reduce((most, fields) => Math.max(most, this.all(fields)), 0);
  }

  #connection({ alternatives }: PlannedField, pageSize: number): number {
    let item = 0;
    let readsPage = false;
    let total = 0;
    for (const field of alternatives[0] ?? []) {
      const { name } = field.definition;
      if (name === "totalCount") total = TOTAL_COUNT;
      else readsPage = true;
      if (name === "nodes") item += this.#below(field);
      if (name === "edges") item += this.#belowEdges(field);
    }
    return total + (readsPage ? pageSize * (1 + item) : 0);
  }

  #belowEdges({ alternatives }: PlannedField): number {
    const nodes = (alternatives[0] ?? []).filter(({ definition }) => definition.name === "node");
    return nodes.reduce((sum, node) => sum + this.#below(node), 0);
  }

  #pageSize({ path }: PlannedField, { first, last }: Values): number {
    if (isGiven(first) && isGiven(last))
      this.#refuse(`${path}.first`, "conflict", "and last cannot be given together");
    for (const [name, size] of Object.entries({ first, last })) {
      if (isGiven(size) && (size < 1 || size > limits.pageSize))
        this.#refuse(`${path}.${name}`, "out_of_range", `must be 1 to ${limits.pageSize}; ${size} was asked`);
    }
    return isGiven(first) ? first : isGiven(last) ? last : DEFAULT_PAGE_SIZE;
  }

  #checkLists({ path, definition }: PlannedField, values: Values): void {
    for (const argument of definition.args) {
      // Each field may show the same variable again.
      if (this.problems.length >= MAX_VARIABLE_ERRORS) return;
      const value = values[argument.name];
      const least = this.#isMutation && isListOfItems(argument) ? 1 : 0;
      this.problems.push(...inputProblems(value, `${path}.${argument.name}`, least));
    }
  }

  #refuse(field: string, code: string, message: string): void {
    this.problems.push({ location: "query", field, code, message });
  }
}

/** A list that must be given is what the field is about: each item brings what is selected. */
function isListOfItems(argument: GraphQLArgument): boolean {
  return isRequiredArgument(argument) && isNonNullType(argument.type) && isListType(argument.type.ofType);
}

function isConnection(type: GraphQLNamedOutputType): boolean {
  return isObjectType(type) && type.name.endsWith("Connection");
}

function isGiven(size: unknown): size is number {
  return typeof size === "number";
}

function lengthOf(value: unknown): number {
  return Array.isArray(value) ? value.length : 1;
}
