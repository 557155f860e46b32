/** The executable schema: the SDL with its resolvers. */
import { makeExecutableSchema } from "@graphql-tools/schema";
import { parse, type GraphQLSchema } from "graphql";
import { enumValues } from "./enums.ts";
import type { Resolvers } from "./generated/schema-types.ts";
import { accountRequest, accountRequestQueries } from "./resolvers/account-request.ts";
import { auditEntry, auditQueries } from "./resolvers/audit.ts";
import { mail, mailQueries } from "./resolvers/mail.ts";
import { memberQueries } from "./resolvers/member.ts";
import { apiKeyQueries } from "./resolvers/api-key.ts";
import { eventQueries, jobEvent, subscriptions } from "./resolvers/event.ts";
import { job, jobQueries } from "./resolvers/job.ts";
import { updatedJob, jobMutations } from "./resolvers/job-mutations.ts";
import { node, nodeQueries } from "./resolvers/node.ts";
import { organization, organizationQueries } from "./resolvers/organization.ts";
import { operatorMutations } from "./resolvers/operator-mutations.ts";
import { referenceQueries } from "./resolvers/reference.ts";
import { requestLogQueries } from "./resolvers/request-log.ts";
import { savedViewQueries } from "./resolvers/saved-view.ts";
import { statsQueries } from "./resolvers/job-stats.ts";
import { testModeAdjustments } from "./resolvers/test-mode.ts";
import { viewer, viewerQueries } from "./resolvers/viewer.ts";
import { webhookDelivery, webhookEndpoint, webhookQueries } from "./resolvers/webhook.ts";
import { webhookAdjustments } from "./resolvers/webhook-mutations.ts";
import { toAccountRequestNode, toInvitationNode, toSavedViewNode, toUserNode } from "./nodes/account.node.ts";
import { toOrganizationNode } from "./nodes/organization.node.ts";
import { operationMutations } from "./operation-mutations.ts";
import { operations } from "../../operations/all.ts";
import { scalars } from "./scalars.ts";
import { readSdl } from "./sdl.ts";

const resolvers: Resolvers = {
  ...scalars,
  Query: {
    ...memberQueries,
    ...accountRequestQueries,
    ...auditQueries,
    ...mailQueries,
    ...requestLogQueries,
    ...viewerQueries,
    ...organizationQueries,
    ...jobQueries,
    ...statsQueries,
    ...eventQueries,
    ...referenceQueries,
    ...webhookQueries,
    ...apiKeyQueries,
    ...savedViewQueries,
    ...nodeQueries,
  },
  Mutation: {
    ...jobMutations,
    ...operatorMutations,
  },
  Subscription: subscriptions,
  Node: node,
  Viewer: viewer,
  Organization: organization,
  AccountRequest: accountRequest,
  AuditEntry: auditEntry,
  Job: job,
  JobEvent: jobEvent,
  UpdateJobPayload: updatedJob,
  BulkJobResult: updatedJob,
  Mail: mail,
  WebhookEndpoint: webhookEndpoint,
  WebhookDelivery: webhookDelivery,
};

const adjustments = { ...webhookAdjustments, ...testModeAdjustments };

const toNodes = {
  AccountRequest: toAccountRequestNode,
  Invitation: toInvitationNode,
  Organization: toOrganizationNode,
  SavedView: toSavedViewNode,
  User: toUserNode,
};

export function createSchema(): GraphQLSchema {
  const typeDefs = parse(readSdl());
  return makeExecutableSchema({
    typeDefs,
    resolvers: [
      enumValues(typeDefs),
      resolvers,
      {
        Mutation: operationMutations(typeDefs, operations, adjustments, toNodes),
      },
    ],
    // By default, enums in the default of an input object keep their names.
    updateResolversInPlace: true,
    resolverValidationOptions: {
      requireResolversToMatchSchema: "error",
      // A field with arguments and no resolver would ignore them.
      requireResolversForArgs: "error",
    },
  });
}
