/** Resolvers of mutations: they authorise, call a service, and return its refusals as `userErrors`. */
import type { GraphqlContext, OperationRequest } from "./context.ts";
import type { UserError } from "./generated/schema-types.ts";
import type { AuthenticatedPrincipal } from "./authenticated-principal.ts";
import { thrownUserErrors, type ErrorPath } from "./user-errors.ts";

/** A principal with the request data that the audit log records. */
export type Caller<Who extends AuthenticatedPrincipal> = Who &
  Pick<OperationRequest, "requestId" | "ipAddress">;

type Mutation<Args, Payload> = (
  root: unknown,
  args: Args,
  context: GraphqlContext,
) => Promise<Payload & { userErrors: UserError[] }>;

/**
 * Returns a resolver that returns the payload of `work`. An error of `authorize` is a top-level error. An expected error of
 * `work` becomes `userErrors`, and the payload's other fields null; any other error is thrown.
 */
export function mutation<Args, Who extends AuthenticatedPrincipal, Payload extends object>(
  authorize: (context: GraphqlContext, args: Args) => Who,
  errorPath: ErrorPath,
  work: (caller: Caller<Who>, args: Args, context: GraphqlContext) => Promise<Payload>,
): Mutation<Args, Payload> {
  return async (_root, args, context) => {
    const { requestId, ipAddress } = context;
    const caller = { ...authorize(context, args), requestId, ipAddress };
    try {
      return { ...(await work(caller, args, context)), userErrors: [] };
    } catch (error) {
      const userErrors = thrownUserErrors(error, errorPath);
      if (userErrors === null) throw error;
      // GraphQL returns null for absent fields.
      return { userErrors } as Payload & { userErrors: UserError[] };
    }
  };
}

/** The object with this argument does not exist, or cannot be changed now. */
export const BY_ID: ErrorPath = { fields: "", subject: "id" };
