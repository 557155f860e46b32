/** The values of enums inside the server. Resolvers take and return the services' own values, such as `in_progress` for IN_PROGRESS. */
import { Kind, type DocumentNode } from "graphql";

/** Between the two parts of a value; elsewhere `_`. */
const separators: Readonly<Record<string, string>> = {
  JobEventType: ".",
  WebhookEventType: ".",
  Scope: ":",
};

/** Returns, for each enum of the SDL, its inner values by their names in the SDL. */
export function enumValues({ definitions }: DocumentNode): Record<string, Record<string, string>> {
  return Object.fromEntries(
    definitions.flatMap((definition) => {
      if (definition.kind !== Kind.ENUM_TYPE_DEFINITION) return [];
      const type = definition.name.value;
      const names = (definition.values ?? []).map(({ name }) => name.value);
      return [[type, Object.fromEntries(names.map((name) => [name, innerValue(type, name)]))]];
    }),
  );
}

function innerValue(type: string, name: string): string {
  // The job service has the same names for group keys.
  if (type === "JobGroupKey") return name;
  return name.toLowerCase().replace("_", separators[type] ?? "_");
}
