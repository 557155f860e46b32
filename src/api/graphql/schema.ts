/** The executable schema: the SDL with its resolvers. */
import { makeExecutableSchema } from "@graphql-tools/schema";
import { buildSchema, GraphQLScalarType, type GraphQLSchema } from "graphql";
import { DateTimeResolver, JSONResolver, LocalDateResolver } from "graphql-scalars";
import { withAccess } from "./authorize.ts";
import type { Resolvers } from "./generated/schema-types.ts";
import { accountQueries, accountRequest, auditEntry, mail, savedView, viewer } from "./resolvers/account.ts";
import { eventQueries, jobEvent, subscriptions } from "./resolvers/event.ts";
import { job, jobQueries } from "./resolvers/job.ts";
import { jobMutations, testModeAdjustments, updatedJob } from "./resolvers/job-mutations.ts";
import { node, nodeQueries } from "./resolvers/node.ts";
import {
  organization,
  organizationAttention,
  organizationOverview,
  organizationQueries,
} from "./resolvers/organization.ts";
import { statsQueries } from "./resolvers/job-stats.ts";
import { webhookAdjustments, webhookDelivery, webhookEndpoint, webhookQueries } from "./resolvers/webhook.ts";
import {
  toAccountRequestNode,
  toInvitationNode,
  toOrganizationNode,
  toSavedViewNode,
  toUserNode,
} from "./nodes.ts";
import { operationMutations } from "./operation-mutations.ts";
import { operations } from "../../operations/all.ts";
import { enumValues, readSdl } from "./sdl.ts";

/**
 * Inputs are validated by `graphql-scalars`; times become text as in REST. Outputs are passed through: nodes hold texts, or Dates,
 * whose JSON is the same text.
 */
function passThrough(scalar: GraphQLScalarType, name: string): GraphQLScalarType {
  const passThroughScalar = new GraphQLScalarType({
    name,
    parseValue: (value) => toText(scalar.parseValue(value)),
    parseLiteral: (literal, variables) => toText(scalar.parseLiteral(literal, variables)),
    serialize: (value) => value,
  });
  // Keep the SDL's description and specification URL: the scalar's own values would replace them.
  const { description: _description, specifiedByURL: _specifiedByURL, ...members } = passThroughScalar;
  return members as GraphQLScalarType;
}

function toText(value: unknown): unknown {
  return value instanceof Date ? value.toISOString() : value;
}

const scalars = {
  DateTime: passThrough(DateTimeResolver, "DateTime"),
  LocalDate: passThrough(LocalDateResolver, "LocalDate"),
  JSON: passThrough(JSONResolver, "JSON"),
};

const resolvers: Resolvers = {
  ...scalars,
  Query: withAccess({
    ...accountQueries,
    ...organizationQueries,
    ...jobQueries,
    ...statsQueries,
    ...eventQueries,
    ...webhookQueries,
    ...nodeQueries,
  }),
  Mutation: withAccess(jobMutations),
  Subscription: withAccess(subscriptions),
  Node: node,
  Viewer: viewer,
  Organization: organization,
  OrganizationAttention: organizationAttention,
  OrganizationOverview: organizationOverview,
  AccountRequest: accountRequest,
  AuditEntry: auditEntry,
  Job: job,
  JobEvent: jobEvent,
  UpdateJobPayload: updatedJob,
  BulkJobResult: updatedJob,
  Mail: mail,
  SavedView: savedView,
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
  const schema = buildSchema(readSdl());
  return makeExecutableSchema({
    typeDefs: schema,
    resolvers: [
      enumValues(schema),
      resolvers,
      { Mutation: operationMutations(schema, operations, adjustments, toNodes) },
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
