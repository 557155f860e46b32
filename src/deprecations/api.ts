/** The exports of this feature: other features and the adapters import only from here. */
export { changelogEntries, type ChangelogEntry } from "./changelog.ts";
export {
  checkDeprecations,
  deprecationHeaders,
  describeDeprecation,
  type Deprecation,
  type RestTarget,
} from "./deprecation.ts";
export { deprecations } from "./registry.ts";
export { DeprecationNotice, DeprecationUse } from "./use.entity.ts";
export { createUseRecorder, type UseRecorder } from "./use.recorder.ts";
export { DeprecationUseService, type UsedDeprecation } from "./use.service.ts";
