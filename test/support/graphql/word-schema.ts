/** A small schema with one resolver of each kind, for tests of GraphQL over HTTP. */
export const typeDefs = /* GraphQL */ `
  type Query {
    word: String
    echo(text: String): String
  }
  type Mutation {
    change: String
  }
  type Subscription {
    changed: String
  }
`;
export const resolvers = {
  Query: { word: () => "here", echo: (_: unknown, { text }: Record<string, unknown>) => text },
  Mutation: { change: () => "changed" },
};

/** The codes of the errors of a response. */
export const codesOf = ({ body }: { body: { errors?: { extensions: { code: string } }[] } }): string[] =>
  (body.errors ?? []).map(({ extensions }) => extensions.code);
