/**
 * The cost of an operation. An object costs 1, a scalar 0. A connection costs its page size times the cost of one item,
 * selected by `nodes` or by `edges { node }`. Page sizes and list lengths are checked at the same time.
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
import { badRequest, MAX_PROBLEMS, type Problem } from "../../../core/errors.ts";
import { inputProblems } from "./input-limits.ts";
import { introspectionCost } from "./introspection-cost.ts";
import { DEFAULT_PAGE_SIZE, limits } from "./limits.ts";
import type { OperationPlan, PlannedField } from "./operation-plan.ts";

/** Counting all matches costs more than reading one page. */
const TOTAL_COUNT_COST = 20;
/** `jobStats` and `jobsToday` aggregate all matches, regardless of the selected fields. */
const STATS_COST = 50;
const statsTypes = new Set(["JobStats", "JobsToday"]);

type Values = Readonly<Record<string, unknown>>;

/**
 * Returns the cost. Throws BadRequestException if a page or list exceeds its limit, and GraphQLError if a required argument
 * is null or introspection exceeds its limit.
 */
export function costOf(schema: GraphQLSchema, plan: OperationPlan, variables: Values): number {
  const calculator = new CostCalculator(plan.kind === OperationTypeNode.MUTATION, variables);
  const cost =
    calculator.costOfAll(plan.rootFields) + introspectionCost(schema, plan.introspection, variables);
  if (calculator.problems.length > 0) throw badRequest(calculator.problems);
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
    const values = getArgumentValues(definition, node, this.#variables);
    this.#checkLists(field, values);
    if (isLeafType(type)) return 0;
    if (isConnection(type)) return this.#connectionCost(field, this.#pageSize(field, values));
    if (statsTypes.has(type.name)) return STATS_COST;
    return this.#objectCost(field, values);
  }

  #objectCost(field: PlannedField, values: Values): number {
    const selectionCost = this.#selectionCost(field);
    const items = field.definition.args.find(isListOfItems);
    const count = items ? lengthOf(values[items.name]) : requestedCount(values["input"]);
    return field.isList ? count * (1 + selectionCost) : 1 + count * selectionCost;
  }

  /** The cost for the most expensive of the possible types. */
  #selectionCost({ possibleSelections }: PlannedField): number {
    return possibleSelections.reduce((max, fields) => Math.max(max, this.costOfAll(fields)), 0);
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
      this.#addProblem(`${path}.first`, "conflict", "cannot be combined with last");
    for (const [name, size] of Object.entries({ first, last })) {
      if (isNumber(size) && (size < 1 || size > limits.pageSize))
        this.#addProblem(`${path}.${name}`, "out_of_range", `must be 1 to ${limits.pageSize}, got ${size}`);
    }
    return isNumber(first) ? first : isNumber(last) ? last : DEFAULT_PAGE_SIZE;
  }

  #checkLists({ path, definition }: PlannedField, values: Values): void {
    for (const argument of definition.args) {
      // Several fields may use the same invalid variable.
      if (this.problems.length >= MAX_PROBLEMS) return;
      const value = values[argument.name];
      const minItems = this.#isMutation && isListOfItems(argument) ? 1 : 0;
      this.problems.push(...inputProblems(value, `${path}.${argument.name}`, minItems));
    }
  }

  #addProblem(field: string, code: string, message: string): void {
    this.problems.push({ location: "query", field, code, message });
  }
}

/** True for a required list: the field returns its selection once per item of it. */
function isListOfItems(argument: GraphQLArgument): boolean {
  return isRequiredArgument(argument) && isNonNullType(argument.type) && isListType(argument.type.ofType);
}

function isConnection(type: GraphQLNamedOutputType): boolean {
  return isObjectType(type) && type.name.endsWith("Connection");
}

function isNumber(size: unknown): size is number {
  return typeof size === "number";
}

/** The number of objects that an input asks for; 1 if it has no `count`. The service rejects a count outside the limits. */
function requestedCount(input: unknown): number {
  const { count } = (input ?? {}) as { count?: number | null };
  return Math.min(Math.max(count ?? 1, 1), limits.listSize);
}

function lengthOf(value: unknown): number {
  return Array.isArray(value) ? value.length : 1;
}
