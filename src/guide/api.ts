export { guideSectionOf } from "./api-sections.ts";
export {
  COLLECTION_FILE,
  GUIDE_URL_PLACEHOLDER,
  NOT_FOUND_FILE,
  SAMPLE_BASE_URL,
  SANDBOX_LINK,
} from "./placeholders.ts";
