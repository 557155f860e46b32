/**
 * Custom scalars. Inputs are parsed by `graphql-scalars`. Outputs are passed through: nodes hold texts, or Dates, whose JSON is
 * the same text.
 */
import { GraphQLScalarType } from "graphql";
import { DateTimeResolver, JSONResolver, LocalDateResolver } from "graphql-scalars";

function passThrough(scalar: GraphQLScalarType, name: string): GraphQLScalarType {
  const { parseValue, parseLiteral } = scalar;
  const passThroughScalar = new GraphQLScalarType({
    name,
    parseValue,
    parseLiteral,
    serialize: (value) => value,
  });
  // Keep the SDL's description and specification URL: the scalar's own values would replace them.
  const { description: _description, specifiedByURL: _specifiedByURL, ...members } = passThroughScalar;
  return members as GraphQLScalarType;
}

export const scalars = {
  DateTime: passThrough(DateTimeResolver, "DateTime"),
  LocalDate: passThrough(LocalDateResolver, "LocalDate"),
  JSON: passThrough(JSONResolver, "JSON"),
};
