/**
 * A table whose headings stay visible, and that becomes a list of cards or lines on a phone. Explicit ARIA roles keep
 * it a table for screen readers either way.
 */
/* oxlint-disable jsx-a11y/no-redundant-roles, jsx-a11y/no-interactive-element-to-noninteractive-role -- see above */
import { UnstyledButton } from "@mantine/core";
import { IconArrowDown, IconArrowsSort, IconArrowUp } from "@tabler/icons-react";
import { useEffect, useRef, type ReactNode, type RefObject } from "react";
import classes from "./data-table.module.css";
import { ResizeHandle } from "./resize-handle.tsx";
import type { WidthState } from "./use-column-widths.ts";

export interface ColumnSort {
  /** Null if the table is sorted by another column. */
  direction: "ascending" | "descending" | null;
  onToggle: () => void;
}

export interface Column<Row> {
  id: string;
  /** The column heading; on a phone it is shown before the value. */
  header: string;
  /** Replaces the heading text, such as with a checkbox. */
  headerContent?: ReactNode;
  cell: (row: Row) => ReactNode;
  /** Use `end` for numbers. */
  align?: "start" | "end";
  /** The column that identifies a row: the first line of its card. One per table. */
  isTitle?: boolean;
  /** A column of buttons. Its heading is visually hidden. */
  isActions?: boolean;
  sort?: ColumnSort;
  /** The line of a row on a phone, with `phone="lines"`. Default: below both lines, with its heading. */
  onPhone?: "first" | "second" | "hidden";
}

interface DataTableProps<Row> {
  /** Names the table for screen readers. */
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey: (row: Row) => string;
  isSelected?: (row: Row) => boolean;
  /** The row that is shown next to the table. */
  isCurrent?: (row: Row) => boolean;
  /** Greys out the rows while new ones load. */
  isStale?: boolean;
  /** The form of rows on a phone. Default: cards. */
  phone?: "cards" | "lines";
  /** Lets the user change the widths of the columns. */
  widths?: WidthState;
}

/** Width in pixels of a column that the user has not resized. */
const DEFAULT_WIDTH = 140;
const ACTIONS_WIDTH = 48;

export function DataTable<Row>({
  caption,
  columns,
  rows,
  rowKey,
  isSelected,
  isCurrent,
  isStale = false,
  phone = "cards",
  widths,
}: DataTableProps<Row>) {
  const frame = useRef<HTMLDivElement>(null);
  useScrollIfWide(frame);
  return (
    <div ref={frame} className={classes.frame} data-phone={phone}>
      <table
        className={classes.table}
        role="table"
        aria-label={caption}
        aria-busy={isStale}
        {...fixedLayout(columns, widths)}
      >
        <thead role="rowgroup">
          <tr role="row">
            {columns.map((column, index) => (
              <HeaderCell
                key={column.id}
                column={column}
                {...(widths && { widths, isLast: index === columns.length - 1 })}
              />
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup" data-stale={isStale || undefined}>
          {rows.map((row) => (
            <tr
              key={rowKey(row)}
              role="row"
              data-selected={isSelected?.(row) === true ? true : undefined}
              aria-current={isCurrent?.(row) === true ? true : undefined}
            >
              {columns.map((column) => (
                <BodyCell key={column.id} column={column} row={row} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Only a table that is too wide scrolls inside its frame: headings stick to what scrolls, which should be the page. */
function useScrollIfWide(frame: RefObject<HTMLDivElement | null>): void {
  useEffect(() => {
    const element = frame.current;
    const table = element?.firstElementChild;
    if (!element || !table) return undefined;
    const observer = new ResizeObserver(() => {
      // Of the frame with its scroll bar, which would otherwise change the answer.
      const isWide = table.clientWidth > element.offsetWidth;
      if (isWide === element.hasAttribute("data-wide")) return;
      element.toggleAttribute("data-wide", isWide);
      element.querySelector("tr[aria-current]")?.scrollIntoView({ block: "nearest" });
    });
    observer.observe(element);
    observer.observe(table);
    return () => observer.disconnect();
  }, [frame]);
}

/** As wide as its columns at least; the last one takes what is left. */
function fixedLayout<Row>(columns: readonly Column<Row>[], state: WidthState | undefined) {
  if (!state || Object.keys(state.widths).length === 0) return {};
  const last = columns.length - 1;
  const all = columns.map(({ id, isActions }, index) =>
    isActions ? ACTIONS_WIDTH : index === last ? DEFAULT_WIDTH : (state.widths[id] ?? DEFAULT_WIDTH),
  );
  return { "data-fixed": true, style: { minWidth: all.reduce((sum, width) => sum + width, 0) } };
}

interface HeaderCellProps<Row> {
  column: Column<Row>;
  widths?: WidthState;
  isLast?: boolean;
}

function HeaderCell<Row>({ column, widths, isLast = false }: HeaderCellProps<Row>) {
  const { id, header, headerContent, align = "start", isActions = false, sort } = column;
  const isFixed = widths !== undefined && Object.keys(widths.widths).length > 0;
  const width = isActions ? ACTIONS_WIDTH : (widths?.widths[id] ?? DEFAULT_WIDTH);
  return (
    <th
      role="columnheader"
      scope="col"
      data-align={align}
      data-actions={isActions || undefined}
      aria-sort={sort ? (sort.direction ?? "none") : undefined}
      data-column={isActions ? undefined : id}
      style={isFixed && !isLast ? { width } : undefined}
    >
      {sort ? (
        <SortButton header={header} sort={sort} />
      ) : (
        (headerContent ?? <span data-hidden={isActions || undefined}>{header}</span>)
      )}
      {widths && !isActions && !isLast && <ResizeHandle id={id} header={header} state={widths} />}
    </th>
  );
}

function SortButton({ header, sort }: { header: string; sort: ColumnSort }) {
  const Picture = { ascending: IconArrowUp, descending: IconArrowDown, none: IconArrowsSort }[
    sort.direction ?? "none"
  ];
  return (
    <UnstyledButton className={classes.sort} onClick={sort.onToggle}>
      {header}
      <Picture size={14} aria-hidden="true" data-idle={sort.direction === null || undefined} />
    </UnstyledButton>
  );
}

function BodyCell<Row>({ column, row }: { column: Column<Row>; row: Row }) {
  const { align = "start", isTitle = false, isActions = false, onPhone } = column;
  return (
    <td
      role="cell"
      data-align={align}
      data-title={isTitle || undefined}
      data-actions={isActions || undefined}
      data-label={isTitle || isActions ? undefined : column.header}
      data-on-phone={onPhone}
    >
      {column.cell(row)}
    </td>
  );
}
