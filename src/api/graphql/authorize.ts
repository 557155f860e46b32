/** Checks the access to root fields with hand-written resolvers. */
import type { GraphQLFieldResolver } from "graphql";
import { invariant } from "../../core/errors.ts";
import { authorize } from "../../operations/admit.ts";
import { rootAccess } from "../../operations/all.ts";
import type { ReadAccess } from "../../operations/operation.ts";
import type { GraphqlContext } from "./context.ts";

type Resolver = GraphQLFieldResolver<unknown, GraphqlContext>;

/** Returns the resolvers, each of which requires the access of its field first. */
export function withAccess<Fields extends object>(fields: Fields): Fields {
  const guarded = Object.entries(fields).map(([name, field]) => {
    const access = rootAccess[name as keyof typeof rootAccess] as ReadAccess | undefined;
    invariant(access, `${name} declares its access`);
    const guard =
      (resolve: Resolver): Resolver =>
      (root, args, context, info) => {
        authorize(access, context.principal, args as Readonly<Record<string, unknown>>);
        return resolve(root, args, context, info);
      };
    if (typeof field === "function") return [name, guard(field as Resolver)];
    const { subscribe, ...others } = field as { readonly subscribe: Resolver };
    return [name, { ...others, subscribe: guard(subscribe) }];
  });
  return Object.fromEntries(guarded) as Fields;
}
