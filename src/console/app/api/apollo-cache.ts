/** Configures Apollo's cache: object keys, and how the pages of a list are merged. */
import { InMemoryCache, type FieldPolicy } from "@apollo/client";
import { relayStylePagination } from "@apollo/client/utilities";

const PAGINATION_ARGUMENTS = new Set(["first", "after", "last", "before"]);

/**
 * A list that `LoadMore` extends, cached separately for each set of filters. Its documents select `edges { node }`.
 */
function paginatedField(): FieldPolicy {
  return relayStylePagination((args) =>
    Object.keys(args ?? {}).filter((name) => !PAGINATION_ARGUMENTS.has(name)),
  );
}

export function createApolloCache(): InMemoryCache {
  return new InMemoryCache({
    typePolicies: {
      Query: {
        fields: {
          // `jobs` is missing on purpose: `CursorPager` shows one page at a time, so pages are cached separately.
          webhookDeliveries: paginatedField(),
          requestLog: paginatedField(),
          organizations: paginatedField(),
          accountRequests: paginatedField(),
          mailOutbox: paginatedField(),
          auditLog: paginatedField(),
          // Replaces the list; without this Apollo warns when a list gets shorter.
          webhookEndpoints: { merge: false },
          apiKeys: { merge: false },
        },
      },
      Job: { fields: { history: paginatedField() } },
      Viewer: { keyFields: [] },
      JobStatus: { keyFields: ["code"] },
      FailureReason: { keyFields: ["code"] },
      RequestLogEntry: { keyFields: ["requestId"] },
    },
  });
}
