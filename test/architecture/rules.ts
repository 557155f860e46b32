/** Who may import whom under `src/`; CONTRIBUTING.md says the same in words. Type-only imports count. */
import type { IForbiddenRuleType } from "dependency-cruiser";

const features =
  "(accounts|api-keys|audit|events|idempotency|jobs|mail|organizations|rate-limits|request-log|restore|webhooks)";
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
        "^src/(app/|main\\.ts$)",
        `(^|node_modules/)(@types/)?${adapterPackages}(/|$)`,
      ],
    },
  },
  {
    name: "one-entrance-per-feature",
    comment: "Other features and the adapters import a feature's api.ts and nothing else of it.",
    from: { path: "^src/([^/]+)(/|\\.ts$)", pathNot: "^src/console/" },
    to: { path: `^src/(${features}|scheduling)/`, pathNot: ["^src/$1/", "^src/[^/]+/api\\.ts$"] },
  },
  {
    name: "platform-knows-no-feature",
    comment: "Platform imports only platform.",
    from: { path: "^src/platform/" },
    to: { path: "^src/(?!platform/)" },
  },
  {
    name: "config-knows-no-feature",
    comment: "Settings are values; config imports only platform.",
    from: { path: "^src/config/" },
    to: { path: "^src/(?!config/|platform/)" },
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
    name: "embedded-is-optional",
    comment: "The databases in the data folder are a way to start, which only the entries know.",
    from: { path: "^src/", pathNot: "^src/(main\\.ts$|(app|cli|embedded)/)" },
    to: { path: "^src/embedded/" },
  },
  {
    name: "tracing-is-loaded-on-demand",
    comment: "OpenTelemetry costs nothing where nobody wants traces: it is imported when they are wanted.",
    from: { path: "^src/", pathNot: "^src/platform/tracing/(sdk|span-queue)\\.ts$" },
    to: {
      path: ["^src/platform/tracing/(sdk|span-queue)\\.ts$", "(^|node_modules/)@opentelemetry/"],
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
