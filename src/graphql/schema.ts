/** The executable schema: the contract with its resolvers. */
import { makeExecutableSchema } from "@graphql-tools/schema";
import type { GraphQLSchema } from "graphql";
import type { Resolvers } from "./generated/schema-types.ts";
import { apiKeyMutations, apiKeyQueries } from "./resolvers/api-key.ts";
import { eventQueries, jobEvent, subscriptions } from "./resolvers/event.ts";
import { job, jobQueries } from "./resolvers/job.ts";
import { jobMutations } from "./resolvers/job-mutations.ts";
import { node, nodeQueries } from "./resolvers/node.ts";
import { operatorMutations } from "./resolvers/operator.ts";
import { referenceQueries } from "./resolvers/reference.ts";
import { statsQueries } from "./resolvers/stats.ts";
import { viewer, viewerQueries } from "./resolvers/viewer.ts";
import { webhookDelivery, webhookQueries } from "./resolvers/webhook.ts";
import { webhookMutations } from "./resolvers/webhook-mutations.ts";
import { scalars } from "./scalars.ts";
import { readSdl } from "./sdl.ts";

const resolvers: Resolvers = {
  ...scalars,
  Query: {
    ...viewerQueries,
    ...jobQueries,
    ...statsQueries,
    ...eventQueries,
    ...referenceQueries,
    ...webhookQueries,
    ...apiKeyQueries,
    ...nodeQueries,
  },
  Mutation: { ...jobMutations, ...webhookMutations, ...apiKeyMutations, ...operatorMutations },
  Subscription: subscriptions,
  Node: node,
  Viewer: viewer,
  Job: job,
  JobEvent: jobEvent,
  WebhookDelivery: webhookDelivery,
};

export function createSchema(): GraphQLSchema {
  return makeExecutableSchema({
    typeDefs: readSdl(),
    resolvers,
    resolverValidationOptions: {
      requireResolversToMatchSchema: "error",
      // Whatever has arguments has to do something with them.
      requireResolversForArgs: "error",
    },
  });
}
