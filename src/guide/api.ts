export { guideSectionOf } from "./api-sections.ts";
export { errorGuidePath } from "./error-sections.ts";
export { GUIDE_URL_PLACEHOLDER, NOT_FOUND_FILE, SAMPLE_BASE_URL, SANDBOX_LINK } from "./placeholders.ts";
