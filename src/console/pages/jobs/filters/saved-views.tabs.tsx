/** Saved views as tabs above the jobs table, and what can be done with the one that is shown. */
import { ActionIcon, Button, Menu } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { IconChevronDown, IconDots, IconUsers } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { notify, notifyError } from "../../../app/interaction/notify.tsx";
import { useSession } from "../../../app/session/session.ts";
import { ConfirmDialog } from "../../../components/dialogs/confirm-dialog.tsx";
import { savedViewQuery, updateSearch, type JobsSearch } from "./jobs.search.ts";
import { SaveViewDialog } from "./saved-views.dialogs.tsx";
import { currentView, useSavedViews, type SavedView } from "./use-saved-views.ts";
import classes from "./saved-views.module.css";

interface SavedViewsTabsProps {
  search: JobsSearch;
  onGo: (search: JobsSearch) => void;
}

export function SavedViewsTabs({ search, onGo }: SavedViewsTabsProps) {
  const { views, save, share, remove } = useSavedViews();
  const [dialog, setDialog] = useState<"save" | "delete" | null>(null);
  const query = savedViewQuery(search);
  const current = currentView(views, search);
  const isChanged = current !== undefined && savedViewQuery(current.search) !== query;
  const close = (): void => setDialog(null);
  const saveAs = async (name: string, isShared: boolean): Promise<void> => {
    onGo(updateSearch(search, { view: await save(name, query, isShared) }));
  };
  const saveChanges = async ({ name }: SavedView): Promise<void> => {
    await save(name, query, false);
    notify(`View “${name}” saved.`);
  };
  return (
    <div className={classes.row}>
      <Tabs views={views} current={current} isChanged={isChanged} isUnfiltered={query === ""} onGo={onGo} />
      {current && <ViewActions view={current} onShare={share} onDelete={() => setDialog("delete")} />}
      {isChanged && current.isOwn && (
        <Button size="compact-sm" onClick={() => void saveChanges(current).catch(notifyError)}>
          Save changes
        </Button>
      )}
      {(isChanged || (!current && query !== "")) && (
        <Button size="compact-sm" variant="default" onClick={() => setDialog("save")}>
          Save as…
        </Button>
      )}
      <SaveViewDialog
        opened={dialog === "save"}
        onClose={close}
        existingNames={views.filter(({ isOwn }) => isOwn).map(({ name }) => name)}
        onSave={saveAs}
      />
      {current && (
        <ConfirmDialog
          opened={dialog === "delete"}
          onClose={close}
          title={`Delete view ${current.name}`}
          action="Delete view"
          isDangerous
          onConfirm={async () => {
            await remove(current.id);
            onGo(updateSearch(search, { view: undefined }));
          }}
        >
          {current.isShared
            ? `Everyone with whom ${current.isOwn ? "you share" : `${current.owner?.name ?? "its user"} shares`} it loses the view.`
            : "The jobs and the present filters stay."}
        </ConfirmDialog>
      )}
    </div>
  );
}

/** The router, too, marks a link as the current one. */
const sameSearch = { exact: true, includeSearch: true };

interface TabsProps {
  views: readonly SavedView[];
  current: SavedView | undefined;
  isChanged: boolean;
  /** The list has neither filters nor another order, columns or page size. */
  isUnfiltered: boolean;
  onGo: (search: JobsSearch) => void;
}

/** The current view always has a tab. Views without a tab are in a menu. */
function Tabs({ views, current, isChanged, isUnfiltered, onGo }: TabsProps) {
  const room = useRoom();
  const shown = views.slice(0, room);
  if (current && !shown.includes(current)) shown.splice(-1, 1, current);
  const others = views.filter((view) => !shown.includes(view));
  return (
    <nav aria-label="Views" className={classes.tabs}>
      <Link
        to="/jobs"
        search={{}}
        activeOptions={sameSearch}
        className={classes.tab}
        aria-current={!current && isUnfiltered && "page"}
      >
        All jobs
      </Link>
      {shown.map((view) => (
        <Link
          key={view.id}
          to="/jobs"
          search={view.search}
          activeOptions={sameSearch}
          className={classes.tab}
          aria-current={view === current && "page"}
        >
          <span className={classes.name}>{view.name}</span>
          {view.isShared && <IconUsers size={14} role="img" aria-label="shared" />}
          {view === current && isChanged && <span className={classes.changed}>changed</span>}
        </Link>
      ))}
      {others.length > 0 && (
        <Menu withinPortal={false}>
          <Menu.Target>
            <Button
              variant="subtle"
              size="compact-sm"
              rightSection={<IconChevronDown size={14} aria-hidden="true" />}
            >
              {others.length} more
            </Button>
          </Menu.Target>
          <Menu.Dropdown>
            {others.map((view) => (
              <Menu.Item
                key={view.id}
                rightSection={view.isShared && <IconUsers size={14} role="img" aria-label="shared" />}
                onClick={() => onGo(view.search)}
              >
                {view.name}
              </Menu.Item>
            ))}
          </Menu.Dropdown>
        </Menu>
      )}
    </nav>
  );
}

/** The number of tabs. */
function useRoom(): number {
  const isWide = useMediaQuery("(min-width: 75em)", true, { getInitialValueInEffect: false });
  const isPhone = useMediaQuery("(max-width: 43.74em)", false, { getInitialValueInEffect: false });
  return isPhone ? 1 : isWide ? 6 : 3;
}

interface ViewActionsProps {
  view: SavedView;
  onShare: (id: string, isShared: boolean) => Promise<void>;
  onDelete: () => void;
}

function ViewActions({ view, onShare, onDelete }: ViewActionsProps) {
  const { user, organization } = useSession();
  const group = organization ? organization.name : "operators";
  if (!view.isOwn && user.role !== "owner") return null;
  const toggle = async (): Promise<void> => {
    await onShare(view.id, !view.isShared);
    notify(view.isShared ? `“${view.name}” is no longer shared.` : `“${view.name}” is shared with ${group}.`);
  };
  return (
    <Menu withinPortal={false}>
      <Menu.Target>
        <ActionIcon aria-label={`Actions for view ${view.name}`}>
          <IconDots size={18} aria-hidden="true" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => void toggle().catch(notifyError)}>
          {view.isShared ? "Stop sharing" : `Share with ${group}`}
        </Menu.Item>
        <Menu.Item c="red" onClick={onDelete}>
          Delete view…
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
