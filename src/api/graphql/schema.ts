/** The executable schema: the SDL with its resolvers. */
import { makeExecutableSchema } from "@graphql-tools/schema";
import { buildSchema, GraphQLScalarType, type GraphQLSchema } from "graphql";
import { DateTimeResolver, JSONResolver, LocalDateResolver } from "graphql-scalars";
import { accountResolvers } from "./resolvers/account.ts";
import { eventResolvers } from "./resolvers/event.ts";
import { jobResolvers } from "./resolvers/job.ts";
import { jobMutationResolvers, testModeAdjustments } from "./resolvers/job-mutations.ts";
import { nodeResolvers } from "./resolvers/node.ts";
import { organizationResolvers } from "./resolvers/organization.ts";
import { statsResolvers } from "./resolvers/job-stats.ts";
import { webhookAdjustments, webhookResolvers } from "./resolvers/webhook.ts";
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
      scalars,
      accountResolvers,
      organizationResolvers,
      jobResolvers,
      jobMutationResolvers,
      statsResolvers,
      eventResolvers,
      webhookResolvers,
      nodeResolvers,
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
