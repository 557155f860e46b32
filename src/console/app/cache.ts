/** How Apollo's cache tells one thing from another, and puts pages of a list together. */
import { InMemoryCache, type FieldPolicy } from "@apollo/client";
import { relayStylePagination } from "@apollo/client/utilities";

const PAGING = new Set(["first", "after", "last", "before"]);

/** A list that grows page by page (`LoadMore`): one for each set of filters. Its documents ask `edges { node }`. */
function growing(): FieldPolicy {
  return relayStylePagination((args) => Object.keys(args ?? {}).filter((name) => !PAGING.has(name)));
}

export function createCache(): InMemoryCache {
  return new InMemoryCache({
    typePolicies: {
      Query: {
        fields: {
          // `jobs` is not among them: its table turns pages (`CursorPager`), and each page is kept apart.
          webhookDeliveries: growing(),
          requestLog: growing(),
          organizations: growing(),
          accountRequests: growing(),
          mailOutbox: growing(),
          auditLog: growing(),
          // A list that got shorter is no loss.
          webhookEndpoints: { merge: false },
          apiKeys: { merge: false },
        },
      },
      Job: { fields: { history: growing() } },
      Viewer: { keyFields: [] },
      JobStatus: { keyFields: ["code"] },
      FailureReason: { keyFields: ["code"] },
      RequestLogEntry: { keyFields: ["requestId"] },
    },
  });
}
