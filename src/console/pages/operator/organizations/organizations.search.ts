import { textParam, type RawSearch } from "../../../app/search-params.ts";

export interface OrganizationsSearch {
  q?: string | undefined;
}

export function parseOrganizationsSearch(search: RawSearch): OrganizationsSearch {
  return { q: textParam(search["q"]) };
}
