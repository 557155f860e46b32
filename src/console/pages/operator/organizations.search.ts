import { text, type RawSearch } from "../../app/search.ts";

export interface OrganizationsSearch {
  q?: string | undefined;
}

export function organizationsSearch(search: RawSearch): OrganizationsSearch {
  return { q: text(search["q"]) };
}
