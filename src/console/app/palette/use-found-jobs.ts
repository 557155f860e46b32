/** The jobs that a text finds: by id, by Marking Number, or by the search of the list. */
import { skipToken, useApolloClient, useQuery } from "@apollo/client/react";
import { useDebouncedValue } from "@mantine/hooks";
import {
  PaletteJobByIdDocument,
  PaletteJobsDocument,
  type PaletteJobFragment,
} from "../../generated/palette.ts";
import { isSearch, jobIdOf } from "./palette.ids.ts";

const DEBOUNCE_MS = 250;
const MIN_LENGTH = 2;
/** Of a Marking Number. */
const MAX_LENGTH = 120;

export interface FoundJobs {
  /** Has this id or Marking Number. */
  exact: PaletteJobFragment | null;
  others: readonly PaletteJobFragment[];
  /** Resolves to `exact` of a text that was typed a moment ago. */
  findExact: () => Promise<PaletteJobFragment | null>;
}

/** Returns no jobs while the user types, so that no answer to an older text appears. */
export function useFoundJobs(text: string): FoundJobs {
  const [settled] = useDebouncedValue(text, DEBOUNCE_MS);
  const id = jobIdOf(settled);
  const byId = useQuery(PaletteJobByIdDocument, id === undefined ? skipToken : { variables: { id } });
  const byText = useQuery(
    PaletteJobsDocument,
    isSearchable(settled) ? { variables: { text: settled }, errorPolicy: "all" as const } : skipToken,
  );
  const client = useApolloClient();
  const findExact = async (): Promise<PaletteJobFragment | null> => {
    if (!isSearchable(text)) return null;
    const query = { query: PaletteJobsDocument, variables: { text }, errorPolicy: "all" } as const;
    const { data } = await client.query(query).catch(() => ({ data: undefined }));
    return data?.exact ?? null;
  };
  if (settled !== text || byText.loading) return { exact: null, others: [], findExact };
  const exact = byId.data?.job ?? byText.data?.exact ?? null;
  const others = (byText.data?.jobs?.nodes ?? []).filter((job) => job.id !== exact?.id);
  return { exact, others, findExact: () => Promise.resolve(null) };
}

function isSearchable(text: string): boolean {
  return text.length >= MIN_LENGTH && text.length <= MAX_LENGTH && isSearch(text);
}
