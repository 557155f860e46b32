/**
 * The scalars of the contract. What comes in is parsed as `graphql-scalars` has it; what goes out stands in the rows as it
 * is to be shown, so that nothing is left to do.
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
  // The description and the specification's URL come from the SDL; members of the scalar would replace them.
  const { description: _description, specifiedByURL: _specifiedByURL, ...members } = passThroughScalar;
  return members as GraphQLScalarType;
}

export const scalars = {
  DateTime: passThrough(DateTimeResolver, "DateTime"),
  LocalDate: passThrough(LocalDateResolver, "LocalDate"),
  JSON: passThrough(JSONResolver, "JSON"),
};
