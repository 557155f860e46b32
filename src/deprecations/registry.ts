/** Everything deprecated. OpenAPI, the SDL, response headers and the change feeds follow from this list. */
import type { Deprecation } from "./deprecation.ts";

export const deprecations: readonly Deprecation[] = [];
