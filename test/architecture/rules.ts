/** Who may import whom under `src/`; CONTRIBUTING.md says the same in words. Type-only imports count. */
import type { IForbiddenRuleType } from "dependency-cruiser";

const features = "(jobs|events|organizations|api-keys|accounts|webhooks|mail|request-log|restoration)";
const adapters = "(http|graphql|cli|scheduling)";
const adapterPackages = "(express|@apollo|graphql|agenda|agendash|@agendajs)";

export const rules = [
  {
    name: "features-know-no-adapter",
    comment: "A feature serves REST, GraphQL, the command line and the scheduler alike.",
    from: { path: `^src/${features}/` },
    to: {
      path: [
        `^src/${adapters}/`,
        "^src/(app|main|serve|server)\\.ts$",
        `(^|node_modules/)(@types/)?${adapterPackages}(/|$)`,
      ],
    },
  },
  {
    name: "one-door-per-feature",
    comment:
      "Another feature is entered through its service, its entities, its fields, its codes, its wire form or its visibility.",
    from: { path: `^src/${features}/` },
    to: {
      path: `^src/${features}/`,
      pathNot: ["^src/$1/", "\\.(service|entity|fields|codes|wire|visibility)\\.ts$"],
    },
  },
  {
    name: "platform-knows-no-feature",
    comment: "Platform imports only platform.",
    from: { path: "^src/platform/" },
    to: { path: "^src/(?!platform/)" },
  },
  {
    name: "adapters-do-not-meet",
    comment: "What two adapters share belongs to a feature or to the platform.",
    from: { path: "^src/(http|graphql|cli)/" },
    to: { path: "^src/(http|graphql|cli)/", pathNot: "^src/$1/" },
  },
  {
    name: "console-stands-alone",
    comment: "The console's types come from the SDL and OpenAPI, never from the server's code.",
    from: { path: "^src/console/" },
    to: { path: "^src/(?!console/)" },
  },
  {
    name: "embedded-is-not-the-product",
    comment: "The databases in the data folder are a way to start, which only the entries know.",
    from: { path: "^src/", pathNot: "^src/((main|app|serve)\\.ts$|cli/|embedded/)" },
    to: { path: "^src/embedded/" },
  },
  {
    name: "traces-are-loaded-where-wanted",
    comment: "OpenTelemetry costs nothing where nobody wants traces: it is imported when they are wanted.",
    from: { path: "^src/", pathNot: "^src/platform/tracing\\.(sdk|queue)\\.ts$" },
    to: {
      path: ["^src/platform/tracing\\.(sdk|queue)\\.ts$", "(^|node_modules/)@opentelemetry/"],
      dynamic: false,
    },
  },
  {
    name: "no-cycles",
    comment: "Data goes one way; no file calls back.",
    from: {},
    to: { circular: true },
  },
] satisfies IForbiddenRuleType[];
