/** A user's saved views and those shared with the user, and the one that the list shows. */
import { useMutation, useQuery } from "@apollo/client/react";
import { payloadOrThrow } from "../../../app/api/user-errors.ts";
import { parseSearch } from "../../../app/search-params.ts";
import { useSession } from "../../../app/session/session.ts";
import {
  DeleteViewDocument,
  SavedViewsDocument,
  SaveViewDocument,
  ShareViewDocument,
  type SavedViewEntryFragment,
} from "../../../generated/saved-views.ts";
import { parseJobsSearch, savedViewQuery, type JobsSearch } from "./jobs.search.ts";

export interface SavedView extends SavedViewEntryFragment {
  readonly search: JobsSearch;
  readonly isOwn: boolean;
}

interface SavedViews {
  /** Shared ones first, each part by name. */
  views: readonly SavedView[];
  /** Returns the id. */
  save: (name: string, query: string, isShared: boolean) => Promise<string>;
  share: (id: string, isShared: boolean) => Promise<void>;
  remove: (id: string) => Promise<void>;
}

export function useSavedViews(): SavedViews {
  const { user } = useSession();
  const { data } = useQuery(SavedViewsDocument);
  const refetchOptions = { refetchQueries: [SavedViewsDocument], awaitRefetchQueries: true };
  const [saveView] = useMutation(SaveViewDocument, refetchOptions);
  const [shareView] = useMutation(ShareViewDocument, refetchOptions);
  const [deleteView] = useMutation(DeleteViewDocument, refetchOptions);
  const share = async (id: string, isShared: boolean): Promise<void> => {
    payloadOrThrow((await shareView({ variables: { id, isShared } })).data?.shareView);
  };
  const views = (data?.savedViews ?? []).map((view): SavedView => {
    const search = { ...parseJobsSearch(parseSearch(view.query)), view: view.id };
    return { ...view, search, isOwn: view.owner?.id === user.id };
  });
  return {
    views: [...views.filter(({ isShared }) => isShared), ...views.filter(({ isShared }) => !isShared)],
    async save(name, query, isShared) {
      const { data: saved } = await saveView({ variables: { name, query } });
      const { view } = payloadOrThrow(saved?.saveView);
      if (isShared && view?.isShared === false) await share(view.id, true);
      return view?.id ?? "";
    },
    share,
    async remove(id) {
      payloadOrThrow((await deleteView({ variables: { id } })).data?.deleteView);
    },
  };
}

/** The view of the URL, or the first that has its filters, order and columns, as in older links. */
export function currentView(views: readonly SavedView[], search: JobsSearch): SavedView | undefined {
  const query = savedViewQuery(search);
  return (
    views.find(({ id }) => id === search.view) ??
    (query === "" ? undefined : views.find((view) => savedViewQuery(view.search) === query))
  );
}
