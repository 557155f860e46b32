/** What stands between a valid operation and its execution: who may ask, what it may cost, how often it may come. */
import type {
  ApolloServerPlugin,
  BaseContext,
  GraphQLRequestContextDidResolveOperation,
} from "@apollo/server";
import {
  getVariableValues,
  GraphQLError,
  OperationTypeNode,
  type DocumentNode,
  type GraphQLSchema,
  type OperationDefinitionNode,
} from "graphql";
import { keyRequired } from "../api-keys/api-key.verifier.ts";
import { takeTokens, type RateLimitClass, type RateLimits } from "../api-keys/rate-limit.ts";
import { badRequest } from "../platform/errors.ts";
import { costOf } from "./cost.ts";
import type { ErrorFormat } from "./error-format.ts";
import { bucketOf } from "./holder.ts";
import { inputTooDeep, nestsTooDeep } from "./input-check.ts";
import { checkLimit, MAX_VARIABLE_ERRORS } from "./limits.ts";
import { planOf, type OperationPlan } from "./plan.ts";
import { currentVisit, type Measured, type Visit } from "./visit.ts";

export interface GuardParts {
  schema: GraphQLSchema;
  /** Null: rate limits are off. */
  limits: RateLimits | null;
  isProduction: boolean;
  errors: ErrorFormat;
}

/** Mutations of many things at once take from the key's `batch`. */
const BULK_FIELDS = new Set([
  "updateJobs",
  "createJobs",
  "assignJobs",
  "setProviderStatus",
  "replayDeliveries",
]);

/** Not a validation rule: those are left out for a document that is known, and see no variables. */
export function createOperationGuard({
  schema,
  limits,
  isProduction,
  errors,
}: GuardParts): ApolloServerPlugin {
  const check = async (document: DocumentNode, asked: Asked, visit: Visit): Promise<void> => {
    const { holder } = visit;
    const plan = planOf(schema, document, asked.operation);
    if (!holder && (isProduction || plan.rootFields.length > 0)) throw keyRequired();
    if (plan.kind === OperationTypeNode.SUBSCRIPTION)
      throw badRequest(
        [],
        "Subscriptions are served over WebSocket, on the same path, by the graphql-ws protocol",
      );
    visit.measured = measureOperation(schema, plan, asked);
    if (holder && plan.kind === OperationTypeNode.MUTATION)
      for (const tokens of tokensOf(plan))
        await takeTokens(limits, bucketOf(holder), tokens, visit.setHeader);
  };

  return {
    requestDidStart: () =>
      Promise.resolve({
        async didResolveOperation({ document, operation, request: { variables = {} } }: Resolved) {
          // Which operation is meant is not clear: execution says so.
          if (!operation) return;
          await check(document, { operation, variables }, currentVisit()).catch((error: unknown) => {
            throw errors.translate(error);
          });
        },
        willSendResponse({ response: { body } }) {
          const { measured } = currentVisit();
          if (measured && body.kind === "single" && "data" in body.singleResult)
            body.singleResult.extensions = { ...body.singleResult.extensions, cost: measured.cost };
          return Promise.resolve();
        },
      }),
  };
}

type Resolved = GraphQLRequestContextDidResolveOperation<BaseContext>;

interface Asked {
  operation: OperationDefinitionNode;
  /** As they came. */
  variables: Record<string, unknown>;
}

/** What the operation costs; null where its variables are wrong, which execution tells. Throws where a limit is passed. */
export function measureOperation(
  schema: GraphQLSchema,
  plan: OperationPlan,
  { operation, variables }: Asked,
): Measured | null {
  checkLimit("depth", plan.depth);
  checkLimit("aliases", plan.aliases);
  checkLimit("rootFields", plan.rootFields.length);
  checkLimit("introspections", plan.introspection.length);
  refuseDeepVariables(variables);
  const definitions = operation.variableDefinitions ?? [];
  const { coerced } = getVariableValues(schema, definitions, variables, { maxErrors: MAX_VARIABLE_ERRORS });
  if (!coerced) return null;
  const cost = countCost(schema, plan, coerced);
  checkLimit("cost", cost);
  return { cost, variables: coerced };
}

/** Before they are coerced, which goes down into them and would run out of stack. */
function refuseDeepVariables(variables: Record<string, unknown>): void {
  const problems = Object.entries(variables).flatMap(([name, value]) =>
    nestsTooDeep(value) ? [inputTooDeep(`variables.${name}`)] : [],
  );
  if (problems.length > 0) throw badRequest(problems);
}

function countCost(schema: GraphQLSchema, plan: OperationPlan, variables: Record<string, unknown>): number {
  try {
    return costOf(schema, plan, variables);
  } catch (error) {
    const isMeant = !(error instanceof GraphQLError) || error.extensions["code"] !== undefined;
    // A variable that may be null is used where null is not allowed, which is known only now.
    throw isMeant ? error : badRequest([], error.message);
  }
}

/** A token for each root field. */
function tokensOf({ rootFields }: OperationPlan): { kind: RateLimitClass; count: number }[] {
  const batch = rootFields.filter(({ definition }) => BULK_FIELDS.has(definition.name)).length;
  const counts = [
    { kind: "batch", count: batch },
    { kind: "write", count: rootFields.length - batch },
  ] as const;
  return counts.filter(({ count }) => count > 0);
}
