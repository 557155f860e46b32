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
import { badRequest, type Problem } from "../../platform/errors.ts";
import { inputProblems } from "./input-limits.ts";
import { introspectionCost } from "./introspection-cost.ts";
import { DEFAULT_PAGE_SIZE, limits, MAX_VARIABLE_ERRORS } from "./limits.ts";
import type { OperationPlan, PlannedField } from "./operation-plan.ts";

/** Counting all that matches is dearer than reading a page of it. */
const TOTAL_COUNT_COST = 20;
/** Aggregates over all that match, whatever is selected of them. */
const STATS_COST = 50;

type Values = Readonly<Record<string, unknown>>;

const constantCosts = new WeakMap<OperationPlan, number>();

/**
 * Throws BadRequestException for a page or a list beyond its limits, and GraphQLError for an argument that is null and must
 * not be, and for introspection beyond the limit.
 */
export function costOf(schema: GraphQLSchema, plan: OperationPlan, variables: Values): number {
  const fixed = constantCosts.get(plan);
  if (fixed !== undefined) return fixed;
  const calculator = new CostCalculator(plan.kind === OperationTypeNode.MUTATION, variables);
  const cost =
    calculator.costOfAll(plan.rootFields) + introspectionCost(schema, plan.introspection, variables);
  if (calculator.problems.length > 0) throw badRequest(calculator.problems);
  if (!plan.usesVariables) constantCosts.set(plan, cost);
  return cost;
}

class CostCalculator {
  readonly problems: Problem[] = [];
  readonly #isMutation: boolean;
  readonly #variables: Values;

  constructor(isMutation: boolean, variables: Values) {
    this.#isMutation = isMutation;
    this.#variables = variables;
  }

  costOfAll(fields: readonly PlannedField[]): number {
    let sum = 0;
    for (const field of fields) sum += this.#fieldCost(field);
    return sum;
  }

  #fieldCost(field: PlannedField): number {
    const { definition, node, type } = field;
    if (isLeafType(type) && definition.args.length === 0) return 0;
    const values = field.fixedArguments ?? getArgumentValues(definition, node, this.#variables);
    this.#checkLists(field, values);
    if (isLeafType(type)) return 0;
    if (isConnection(type)) return this.#connectionCost(field, this.#pageSize(field, values));
    if (type.name === "JobStats") return STATS_COST;
    return this.#objectCost(field, values);
  }

  #objectCost(field: PlannedField, values: Values): number {
    const selectionCost = this.#selectionCost(field);
    const items = field.definition.args.find(isListOfItems);
    const count = items ? lengthOf(values[items.name]) : 1;
    return field.isList ? count * (1 + selectionCost) : 1 + count * selectionCost;
  }

  /** The dearest of the types that it may turn out to be. */
  #selectionCost({ possibleSelections }: PlannedField): number {
    return possibleSelections.reduce((most, fields) => Math.max(most, this.costOfAll(fields)), 0);
  }

  #connectionCost({ possibleSelections }: PlannedField, pageSize: number): number {
    let item = 0;
    let readsPage = false;
    let total = 0;
    for (const field of possibleSelections[0] ?? []) {
      const { name } = field.definition;
      if (name === "totalCount") total = TOTAL_COUNT_COST;
      else readsPage = true;
      if (name === "nodes") item += this.#selectionCost(field);
      if (name === "edges") item += this.#edgesCost(field);
    }
    return total + (readsPage ? pageSize * (1 + item) : 0);
  }

  #edgesCost({ possibleSelections }: PlannedField): number {
    const nodes = (possibleSelections[0] ?? []).filter(({ definition }) => definition.name === "node");
    return nodes.reduce((sum, node) => sum + this.#selectionCost(node), 0);
  }

  #pageSize({ path }: PlannedField, { first, last }: Values): number {
    if (isNumber(first) && isNumber(last))
      this.#addProblem(`${path}.first`, "conflict", "and last cannot be given together");
    for (const [name, size] of Object.entries({ first, last })) {
      if (isNumber(size) && (size < 1 || size > limits.pageSize))
        this.#addProblem(
          `${path}.${name}`,
          "out_of_range",
          `must be 1 to ${limits.pageSize}; ${size} was asked`,
        );
    }
    return isNumber(first) ? first : isNumber(last) ? last : DEFAULT_PAGE_SIZE;
  }

  #checkLists({ path, definition }: PlannedField, values: Values): void {
    for (const argument of definition.args) {
      // Each field may show the same variable again.
      if (this.problems.length >= MAX_VARIABLE_ERRORS) return;
      const value = values[argument.name];
      const minItems = this.#isMutation && isListOfItems(argument) ? 1 : 0;
      this.problems.push(...inputProblems(value, `${path}.${argument.name}`, minItems));
    }
  }

  #addProblem(field: string, code: string, message: string): void {
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

function isNumber(size: unknown): size is number {
  return typeof size === "number";
}

function lengthOf(value: unknown): number {
  return Array.isArray(value) ? value.length : 1;
}
