/** Checks a valid operation before it runs: authentication, cost and rate limits. */
import {
  getVariableValues,
  GraphQLError,
  OperationTypeNode,
  type DocumentNode,
  type GraphQLSchema,
  type OperationDefinitionNode,
  type VariableDefinitionNode,
} from "graphql";
import { keyRequired } from "../../../api-keys/api.ts";
import { type RateLimits, takeTokens } from "../../../rate-limits/api.ts";
import { unknownNames } from "../../../core/did-you-mean.ts";
import { AppError, badRequest, type Problem } from "../../../core/errors.ts";
import { costOf } from "./cost.ts";
import type { ShareKind } from "../../in-flight.ts";
import { isSessionPrincipal, rateLimitSubjectOf } from "../authenticated-principal.ts";
import { sizeProblem } from "./input-limits.ts";
import { checkLimit } from "./limits.ts";
import { planOf, type OperationPlan } from "./operation-plan.ts";
import { restOperations } from "../../../operations/all.ts";
import { mutationOf } from "../../../operations/operation.ts";
import { checkKey } from "../keyed-mutation.ts";
import { currentResponse, type RequestStore } from "../context.ts";

export interface OperationGuardDeps {
  schema: GraphQLSchema;
  limits: RateLimits | null;
  isProduction: boolean;
}

export interface MeasuredOperation {
  readonly shareKind: ShareKind;
  readonly cost: number;
  /** Coerced, with defaults. Absent variables without a default are missing. */
  readonly variables: Readonly<Record<string, unknown>>;
}

/** Mutations that use the `batch` rate limit: those of REST's batches, and further ones. */
const BULK_FIELDS = new Set([
  ...restOperations.filter(({ rate }) => rate === "batch").map(mutationOf),
  "createJobs",
  "assignJobs",
  "setProviderStatus",
  "replayDeliveries",
]);

/**
 * Returns the measured operation, or null if a variable is invalid. Throws AppError or GraphQLError for an operation that may not run.
 * Not a validation rule: Apollo skips those for cached documents, and they do not see variables.
 */
export async function guardOperation(
  { schema, limits, isProduction }: OperationGuardDeps,
  requested: RequestedOperation & { document: DocumentNode },
  request: RequestStore,
): Promise<MeasuredOperation | null> {
  const { principal } = request;
  const plan = planOf(schema, requested.document, requested.operation);
  if (!principal && (isProduction || plan.rootFields.length > 0)) throw keyRequired();
  const isMutation = plan.kind === OperationTypeNode.MUTATION;
  if (isMutation && principal && isSessionPrincipal(principal) && principal.isReadOnly)
    throw new AppError(
      "ForbiddenException",
      "You view a partner, and can change nothing. Stop viewing first",
    );
  assertTransport(plan, request);
  checkKey(plan);
  const measured = measureOperation(schema, plan, requested);
  if (principal && isMutation) {
    const batch = countBulkFields(plan);
    const counts = [
      ["batch", batch],
      ["write", plan.rootFields.length - batch],
    ] as const;
    for (const [kind, count] of counts)
      if (count > 0) await takeTokens(limits, rateLimitSubjectOf(principal), { kind, count }, setHeader);
  }
  return measured;
}

function setHeader(name: string, value: string): void {
  currentResponse().setHeader(name, value);
}

interface RequestedOperation {
  operation: OperationDefinitionNode;
  /** Raw values from the request. */
  variables: Record<string, unknown>;
}

/**
 * Returns the operation's cost and coerced variables, or null if a variable is invalid; execution reports that.
 * Throws a GraphQLError or BadRequestException if a limit is exceeded.
 */
export function measureOperation(
  schema: GraphQLSchema,
  plan: OperationPlan,
  { operation, variables }: RequestedOperation,
): MeasuredOperation | null {
  checkLimit("depth", plan.depth);
  checkLimit("aliases", plan.aliases);
  checkLimit("rootFields", plan.rootFields.length);
  checkLimit("introspections", plan.introspection.length);
  const definitions = operation.variableDefinitions ?? [];
  checkVariables(definitions, variables);
  // `variableErrors` lists the problems. Here each would cost a text with the whole value.
  const { coerced } = getVariableValues(schema, definitions, variables, { maxErrors: 0 });
  if (!coerced) return null;
  const withoutValue = [...plan.conditionVariables].filter((name) => coerced[name] === null);
  if (withoutValue.length > 0) throw badRequest(withoutValue.map(nullConditionProblem));
  const cost = computeCost(schema, plan, coerced);
  checkLimit("cost", cost);
  return { cost, variables: coerced, shareKind: shareKindOf(plan) };
}

/**
 * Rejects variables that the operation does not declare, and values that are too deep or too large. Must run before variables are
 * coerced: coercion is recursive and would overflow the stack.
 */
function checkVariables(
  definitions: readonly VariableDefinitionNode[],
  variables: Record<string, unknown>,
): void {
  const declared = definitions.map(({ variable }) => variable.name.value);
  // Coerced values are in an object, which cannot hold `__proto__`. The specification reserves these names.
  const reserved = declared.find((name) => name.startsWith("__"));
  if (reserved !== undefined)
    throw badRequest(
      [],
      `The variable $${reserved} must have another name: names that start with __ are reserved`,
    );
  const undeclared = unknownNames(Object.keys(variables), declared);
  if (undeclared.length > 0) throw badRequest(undeclared.map(undeclaredProblem));
  const problems = Object.entries(variables).map(([name, value]) => sizeProblem(value, `variables.${name}`));
  const found = problems.filter((problem) => problem !== null);
  if (found.length > 0) throw badRequest(found);
}

/** A nullable variable with a default is valid as `if`, and null is not: execution would fail in the middle. */
function nullConditionProblem(name: string): Problem {
  const message = "must not be null, because @skip or @include depends on it";
  return { location: "query", field: `variables.${name}`, code: "required", message };
}

function undeclaredProblem({ name, nearest }: { name: string; nearest: string | null }): Problem {
  const advice =
    nearest === null ? "declare it in the operation, or leave it out" : `did you mean $${nearest}?`;
  const message = `is not declared; ${advice}`;
  return { location: "query", field: `variables.${name}`, code: "unknown_member", message };
}

function computeCost(schema: GraphQLSchema, plan: OperationPlan, variables: Record<string, unknown>): number {
  try {
    return costOf(schema, plan, variables);
  } catch (error) {
    const isExpected = !(error instanceof GraphQLError) || error.extensions["code"] !== undefined;
    // A nullable variable is null where the argument is required; only coercing the arguments finds that.
    throw isExpected ? error : badRequest([], error.message);
  }
}

function assertTransport({ kind }: OperationPlan, { response }: RequestStore): void {
  const isSubscription = kind === OperationTypeNode.SUBSCRIPTION;
  if (isSubscription && response !== null)
    throw badRequest(
      [],
      "Subscriptions need a WebSocket on the same path, with the graphql-transport-ws protocol",
    );
  if (!isSubscription && response === null) throw badRequest([], "Send queries and mutations by POST");
}

function shareKindOf(plan: OperationPlan): ShareKind {
  if (plan.kind !== OperationTypeNode.MUTATION) return "query";
  return countBulkFields(plan) > 0 ? "bulk" : "request";
}

function countBulkFields({ rootFields }: OperationPlan): number {
  return rootFields.filter(({ definition }) => BULK_FIELDS.has(definition.name)).length;
}
