export { GUIDE_URL_PLACEHOLDER, NOT_FOUND_FILE, SAMPLE_BASE_URL } from "./placeholders.ts";
