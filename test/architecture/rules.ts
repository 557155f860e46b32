/** Import rules for `src/`, described in CONTRIBUTING.md. Type-only imports count. */
import type { IForbiddenRuleType } from "dependency-cruiser";

const features =
  "(accounts|api-keys|audit|events|idempotency|jobs|mail|organizations|partners|rate-limits|request-log|restore|test-mode|webhooks)";
const adapters = "(api|cli|scheduling)";
const adapterPackages = "(express|@apollo|graphql|agenda|agendash|@agendajs)";

export const rules = [
  {
    name: "features-know-no-adapter",
    comment: "A feature must not depend on REST, GraphQL, the command line or the scheduler, which use it.",
    from: { path: `^src/${features}/` },
    to: {
      path: [
        `^src/${adapters}/`,
        "^src/(app/|main\\.ts$)",
        `(^|node_modules/)(@types/)?${adapterPackages}(/|$)`,
      ],
    },
  },
  {
    name: "one-entrance-per-feature",
    comment: "Other features and the adapters may only import a feature's api.ts and operations.ts.",
    from: { path: "^src/([^/]+)(/|\\.ts$)", pathNot: "^src/console/" },
    to: {
      path: `^src/(${features}|scheduling)/`,
      pathNot: ["^src/$1/", "^src/[^/]+/(api|operations)\\.ts$"],
    },
  },
  {
    name: "core-knows-no-feature",
    comment: "Core may only import core.",
    from: { path: "^src/core/" },
    to: { path: "^src/(?!core/)" },
  },
  {
    name: "config-knows-no-feature",
    comment: "Config may only import core.",
    from: { path: "^src/config/" },
    to: { path: "^src/(?!config/|core/)" },
  },
  {
    name: "adapters-do-not-meet",
    comment:
      "The API and the command line must not import each other; shared code belongs to a feature or to core.",
    from: { path: "^src/(api|cli)/" },
    to: { path: "^src/(api|cli)/", pathNot: "^src/$1/" },
  },
  {
    name: "rest-knows-no-graphql",
    comment: "GraphQL is mounted by app/, so the rest of the API must not import it.",
    from: { path: "^src/api/(?!graphql/)" },
    to: { path: "^src/(api/graphql|cli)/" },
  },
  {
    name: "console-stands-alone",
    comment: "The console must not import server code; its types come from the SDL and OpenAPI.",
    from: { path: "^src/console/" },
    to: { path: "^src/(?!console/)" },
  },
  {
    name: "dev-is-optional",
    comment: "Only entry points may import the embedded databases, which are optional.",
    from: { path: "^src/", pathNot: "^src/(main\\.ts$|(app|cli|dev)/)" },
    to: { path: "^src/dev/" },
  },
  {
    name: "tracing-is-loaded-on-demand",
    comment:
      "OpenTelemetry's SDK must be imported dynamically, so that it costs nothing while traces are off. Its API does nothing then.",
    from: { path: "^src/", pathNot: "^src/core/tracing/sdk\\.ts$" },
    to: {
      path: ["^src/core/tracing/sdk\\.ts$", "(^|node_modules/)@opentelemetry/(?!api/)"],
      dynamic: false,
    },
  },
  {
    name: "sql-only-where-it-is-hot",
    comment:
      "SQL templates are only allowed in *.sql.ts files (docs/decisions/0061); everything else uses MikroORM.",
    from: {
      path: "^src/",
      pathNot: ["\\.sql\\.ts$", "^src/(core|migrations|dev/demo)/"],
    },
    to: { path: "^src/core/postgres/sql\\.ts$" },
  },
  {
    name: "adapters-use-services",
    comment:
      "An adapter parses, calls one service method and formats; it runs no SQL and uses no entity manager.",
    from: { path: `^src/${adapters}/` },
    to: { path: ["^src/core/postgres/sql\\.ts$", "(^|node_modules/)@mikro-orm/"] },
  },
  {
    name: "no-cycles",
    comment: "Files must not import each other in a cycle.",
    from: {},
    to: { circular: true },
  },
] satisfies IForbiddenRuleType[];
