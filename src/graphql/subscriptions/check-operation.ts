/** Checks the operation of a `subscribe` message exactly as over HTTP: by Apollo's pipeline, with its document cache. */
import type { ApolloServer, BaseContext } from "@apollo/server";
import { Kind, type DocumentNode, type GraphQLFormattedError, type SelectionSetNode } from "graphql";
import type { SubscribePayload } from "graphql-ws";
import { badRequest, invariant } from "../../platform/errors.ts";
import type { ErrorFormatter } from "../execution/error-formatter.ts";
import { currentRequest, type CheckedSubscription } from "../request-store.ts";

/** Returns the subscription, or the errors of the operation. Throws BadRequestException for a root field that may be excluded. */
export async function checkOperation<Context extends BaseContext>(
  { apollo, errors }: { apollo: ApolloServer<Context>; errors: ErrorFormatter },
  contextValue: Context,
  { query, operationName, variables }: SubscribePayload,
): Promise<CheckedSubscription | readonly GraphQLFormattedError[]> {
  const request = {
    query,
    ...(typeof operationName === "string" && { operationName }),
    ...(variables && { variables }),
  };
  const { body } = await apollo.executeOperation(request, { contextValue });
  const { subscription } = currentRequest();
  if (!subscription) {
    invariant(body.kind === "single" && body.singleResult.errors, "an operation is accepted or rejected");
    return body.singleResult.errors.map((error) => withSubscriptionCode(error, errors));
  }
  if (isRootConditional(subscription.operation.selectionSet, subscription.document))
    throw badRequest([], "The root field of a subscription cannot have @skip or @include");
  return subscription;
}

/** Replaces two of Apollo's codes by those that clients of subscriptions know. */
function withSubscriptionCode(
  { extensions = {}, ...error }: GraphQLFormattedError,
  errors: ErrorFormatter,
): GraphQLFormattedError {
  const isUnknownOperation = extensions["code"] === "OPERATION_RESOLUTION_FAILURE";
  // Fragments that expand to too many fields.
  const isTooLarge = extensions["validationErrorCode"] !== undefined;
  const code = isUnknownOperation
    ? "BAD_USER_INPUT"
    : isTooLarge
      ? "QUERY_TOO_EXPENSIVE"
      : extensions["code"];
  const common = errors.commonExtensions(String(code), currentRequest().requestId);
  return { ...error, extensions: { ...extensions, ...common } };
}

/** True if a directive could exclude the root field: then there would be nothing to subscribe to. */
function isRootConditional({ selections }: SelectionSetNode, document: DocumentNode): boolean {
  return selections.some((selection) => {
    if ((selection.directives ?? []).length > 0) return true;
    if (selection.kind === Kind.FIELD) return false;
    if (selection.kind === Kind.INLINE_FRAGMENT) return isRootConditional(selection.selectionSet, document);
    return document.definitions.some(
      (definition) =>
        definition.kind === Kind.FRAGMENT_DEFINITION &&
        definition.name.value === selection.name.value &&
        isRootConditional(definition.selectionSet, document),
    );
  });
}
