/** The only place that names a provider of maps. Nothing is sent to it before the user follows the link. */
const MAP_SEARCH_URL = "https://www.google.com/maps/search/";

/** Opens the provider's app on a phone. */
export function mapUrl(...addressLines: (string | null)[]): string {
  const query = addressLines
    .flatMap((line) => line?.split(/[\r\n]+/) ?? [])
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .join(", ");
  return `${MAP_SEARCH_URL}?${new URLSearchParams({ api: "1", query }).toString()}`;
}
