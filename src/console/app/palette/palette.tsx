/** A search over everything that the user may open or do, opened with Ctrl or Cmd and K. */
import { Kbd, Text, UnstyledButton, VisuallyHidden } from "@mantine/core";
import { createSpotlight, Spotlight, useSpotlight } from "@mantine/spotlight";
import "@mantine/spotlight/styles.layer.css";
import { IconSearch } from "@tabler/icons-react";
import { useEffect, useId, useRef, useState } from "react";
import { formatCount } from "../formats.ts";
import { returnFocusTo } from "../interaction/return-focus.ts";
import type { Session } from "../session/session.ts";
import classes from "./palette.module.css";
import type { PaletteItem } from "./palette.items.ts";
import { usePaletteGroups } from "./use-palette-groups.ts";

/** The page that an action opens focuses its heading first. */
const FOCUS_DELAY_MS = 50;

const [store, spotlight] = createSpotlight();

interface PaletteProps {
  session: Session;
  isOpen: boolean;
  onClose: () => void;
}

export function Palette({ session, isOpen, onClose }: PaletteProps) {
  const [query, setQuery] = useState("");
  const dialog = useRef<HTMLDivElement>(null);
  const opener = useRef<HTMLElement>(null);
  useEffect(() => {
    if (!isOpen) {
      spotlight.close();
      return;
    }
    opener.current = document.activeElement as HTMLElement | null;
    spotlight.open();
  }, [isOpen]);
  return (
    <Spotlight.Root
      ref={dialog}
      store={store}
      shortcut={null}
      query={query}
      onQueryChange={setQuery}
      onSpotlightClose={() => {
        onClose();
        window.setTimeout(() => returnFocusTo(opener.current, dialog), FOCUS_DELAY_MS);
      }}
      returnFocus={false}
      centered={false}
      overlayProps={{ backgroundOpacity: 0.45 }}
      attributes={{ content: { "aria-label": "Search and actions" } }}
    >
      <Results session={session} text={query.trim()} />
    </Spotlight.Root>
  );
}

function Results({ session, text }: { session: Session; text: string }) {
  const id = useId();
  const { selected } = useSpotlight(store);
  const groups = usePaletteGroups(session, text);
  const items = groups.flatMap((group) => group.items);
  const [first] = items;
  const selectedItem = items[selected];
  const optionId = (item: PaletteItem): string => `${id}-${item.id}`;
  return (
    <>
      <SelectFirst key={`${first?.id} ${text}`} />
      <Spotlight.Search
        placeholder="Search jobs, pages and actions"
        leftSection={<IconSearch size={18} aria-hidden="true" />}
        maxLength={200}
        spellCheck={false}
        classNames={{ wrapper: classes.search ?? "" }}
        role="combobox"
        aria-label="Search jobs, pages and actions"
        aria-expanded
        aria-controls={`${id}-results`}
        aria-activedescendant={selectedItem && optionId(selectedItem)}
      />
      <Spotlight.ActionsList id={`${id}-results`} role="listbox" aria-label="Results">
        {groups.map(({ label, items: ofGroup }) => (
          <Spotlight.ActionsGroup key={label} label={label} role="group" aria-label={label}>
            {ofGroup.map((item) => (
              <Option key={item.id} id={optionId(item)} item={item} isSelected={item === selectedItem} />
            ))}
          </Spotlight.ActionsGroup>
        ))}
      </Spotlight.ActionsList>
      <Text className={classes.foot} aria-hidden="true">
        <Kbd size="xs">↑</Kbd> <Kbd size="xs">↓</Kbd> to move, <Kbd size="xs">Enter</Kbd> to open
      </Text>
      <VisuallyHidden role="status">{text !== "" && formatCount(items.length, "result")}</VisuallyHidden>
    </>
  );
}

/** Selects the first result when it appears: also a job that was found later and comes first. */
function SelectFirst() {
  useEffect(() => store.setState({ ...store.getState(), selected: 0 }), []);
  return null;
}

interface OptionProps {
  id: string;
  item: PaletteItem;
  isSelected: boolean;
}

/** Spotlight finds it by `data-action`, and clicks on the one with `data-selected`. */
function Option({ id, item: { label, description, icon: Picture, run }, isSelected }: OptionProps) {
  return (
    <UnstyledButton
      id={id}
      role="option"
      aria-selected={isSelected}
      tabIndex={-1}
      className={classes.option}
      data-action
      data-selected={isSelected || undefined}
      // Keeps the focus in the search field.
      onMouseDown={(event) => event.preventDefault()}
      onClick={() => {
        spotlight.close();
        run();
      }}
    >
      <Picture size={18} stroke={1.7} aria-hidden="true" />
      <span className={classes.label}>{label}</span>
      {description && <span className={classes.description}>{description}</span>}
    </UnstyledButton>
  );
}
