/** How Apollo's cache tells one thing from another, and puts pages of a list together. */
import { InMemoryCache, type FieldPolicy } from "@apollo/client";
import { relayStylePagination } from "@apollo/client/utilities";

const PAGINATION_ARGUMENTS = new Set(["first", "after", "last", "before"]);

/** A list that grows page by page (`LoadMore`): one for each set of filters. Its documents ask `edges { node }`. */
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
          // `jobs` is not among them: its table turns pages (`CursorPager`), and each page is kept apart.
          webhookDeliveries: paginatedField(),
          requestLog: paginatedField(),
          organizations: paginatedField(),
          accountRequests: paginatedField(),
          mailOutbox: paginatedField(),
          auditLog: paginatedField(),
          // A list that got shorter is no loss.
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
