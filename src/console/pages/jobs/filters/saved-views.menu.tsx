/** The menu of a user's saved views. */
import { useMutation, useQuery } from "@apollo/client/react";
import { Button, Menu } from "@mantine/core";
import { IconBookmark, IconBookmarkFilled, IconPlus, IconTrash } from "@tabler/icons-react";
import { useState } from "react";
import { guide } from "../../../app/guide/guide-pages.ts";
import { parseSearch } from "../../../app/search-params.ts";
import { payloadOrThrow } from "../../../app/api/user-errors.ts";
import { GuideMenuItem } from "../../../components/layout/guide-menu-item.tsx";
import {
  DeleteViewDocument,
  SavedViewsDocument,
  SaveViewDocument,
  type SavedViewEntryFragment,
} from "../../../generated/saved-views.ts";
import { parseJobsSearch, savedViewQuery, type JobsSearch } from "./jobs.search.ts";
import { RemoveViewsDialog, SaveViewDialog } from "./saved-views.dialogs.tsx";

interface SavedViewsMenuProps {
  search: JobsSearch;
  onGo: (search: JobsSearch) => void;
}

export function SavedViewsMenu({ search, onGo }: SavedViewsMenuProps) {
  const { views, save, remove } = useSavedViews();
  const [dialog, setDialog] = useState<"save" | "remove" | null>(null);
  const query = savedViewQuery(search);
  const current = views.find((view) => savedViewQuery(parseJobsSearch(parseSearch(view.query))) === query);
  const Picture = current ? IconBookmarkFilled : IconBookmark;
  const close = (): void => setDialog(null);
  return (
    <>
      <Menu withinPortal={false}>
        <Menu.Target>
          <Button
            variant="default"
            maw={240}
            aria-label={current ? `Views: ${current.name}` : undefined}
            leftSection={<Picture size={16} aria-hidden="true" />}
          >
            {current ? current.name : "Views"}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Label>{views.length === 0 ? "No saved views" : "Saved views"}</Menu.Label>
          {views.length === 0 && <GuideMenuItem page={guide.jobs} label={`Guide: ${guide.jobs.title}`} />}
          {views.map((view) => (
            <Menu.Item
              key={view.id}
              aria-current={view === current || undefined}
              onClick={() => onGo(parseJobsSearch(parseSearch(view.query)))}
            >
              {view.name}
            </Menu.Item>
          ))}
          <Menu.Divider />
          <Menu.Item
            leftSection={<IconPlus size={16} aria-hidden="true" />}
            onClick={() => setDialog("save")}
          >
            Save view…
          </Menu.Item>
          {views.length > 0 && (
            <Menu.Item
              leftSection={<IconTrash size={16} aria-hidden="true" />}
              onClick={() => setDialog("remove")}
            >
              Remove views…
            </Menu.Item>
          )}
        </Menu.Dropdown>
      </Menu>
      <SaveViewDialog
        opened={dialog === "save"}
        onClose={close}
        existingNames={views.map(({ name }) => name)}
        onSave={(name) => save(name, query)}
      />
      <RemoveViewsDialog opened={dialog === "remove"} onClose={close} views={views} onRemove={remove} />
    </>
  );
}

interface SavedViews {
  views: readonly SavedViewEntryFragment[];
  save: (name: string, query: string) => Promise<void>;
  remove: (id: string) => Promise<void>;
}

function useSavedViews(): SavedViews {
  const { data } = useQuery(SavedViewsDocument);
  const refetchOptions = { refetchQueries: [SavedViewsDocument], awaitRefetchQueries: true };
  const [saveView] = useMutation(SaveViewDocument, refetchOptions);
  const [deleteView] = useMutation(DeleteViewDocument, refetchOptions);
  return {
    views: data?.savedViews ?? [],
    async save(name, query) {
      payloadOrThrow((await saveView({ variables: { name, query } })).data?.saveView);
    },
    async remove(id) {
      payloadOrThrow((await deleteView({ variables: { id } })).data?.deleteView);
    },
  };
}
