/** Checks the operation of a `subscribe` message exactly as over HTTP: by Apollo's pipeline, with its document cache. */
import type { ApolloServer, BaseContext } from "@apollo/server";
import { Kind, type DocumentNode, type GraphQLFormattedError, type SelectionSetNode } from "graphql";
import type { SubscribePayload } from "graphql-ws";
import { badRequest, invariant } from "../../../core/errors.ts";
import { currentRequest, type CheckedSubscription } from "../request-store.ts";

/** Returns the subscription, or the errors of the operation. Throws BadRequestException for a root field that may be excluded. */
export async function checkOperation<Context extends BaseContext>(
  apollo: ApolloServer<Context>,
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
    return body.singleResult.errors;
  }
  if (isRootConditional(subscription.operation.selectionSet, subscription.document))
    throw badRequest([], "The root field of a subscription cannot have @skip or @include");
  return subscription;
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
