/**
 * A table that becomes a list of cards where there is no room for columns. It stays a table to a screen reader either way,
 * which is why each part says its role.
 */
/* oxlint-disable jsx-a11y/no-redundant-roles, jsx-a11y/no-interactive-element-to-noninteractive-role -- as said above */
import { UnstyledButton } from "@mantine/core";
import { IconArrowDown, IconArrowsSort, IconArrowUp } from "@tabler/icons-react";
import type { ReactNode } from "react";
import classes from "./data-table.module.css";

export interface ColumnSort {
  /** Null: the table is ordered by another column. */
  direction: "ascending" | "descending" | null;
  onToggle: () => void;
}

export interface Column<Row> {
  id: string;
  /** The heading; on a phone it stands before the value. */
  header: string;
  /** In the place of the heading's words: a box to tick. */
  headerContent?: ReactNode;
  cell: (row: Row) => ReactNode;
  /** Numbers stand at the end. */
  align?: "start" | "end";
  /** What a row is known by: its card's first line. One column of a table. */
  isTitle?: boolean;
  /** Buttons, without a heading to be seen. */
  isActions?: boolean;
  sort?: ColumnSort;
}

interface DataTableProps<Row> {
  /** What the table holds, for a screen reader. */
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey: (row: Row) => string;
  /** Rows that are ticked. */
  isSelected?: (row: Row) => boolean;
  /** Greys the rows out while the next ones are on their way. */
  isStale?: boolean;
}

export function DataTable<Row>({
  caption,
  columns,
  rows,
  rowKey,
  isSelected,
  isStale = false,
}: DataTableProps<Row>) {
  return (
    <div className={classes.frame}>
      <table className={classes.table} role="table" aria-label={caption} aria-busy={isStale}>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map((column) => (
              <HeaderCell key={column.id} column={column} />
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup" data-stale={isStale || undefined}>
          {rows.map((row) => (
            <tr key={rowKey(row)} role="row" data-selected={isSelected?.(row) === true ? true : undefined}>
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

function HeaderCell<Row>({ column }: { column: Column<Row> }) {
  const { header, headerContent, align = "start", isActions = false, sort } = column;
  return (
    <th
      role="columnheader"
      scope="col"
      data-align={align}
      data-actions={isActions || undefined}
      aria-sort={sort ? (sort.direction ?? "none") : undefined}
    >
      {sort ? (
        <SortButton header={header} sort={sort} />
      ) : (
        (headerContent ?? <span data-hidden={isActions || undefined}>{header}</span>)
      )}
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
  const { align = "start", isTitle = false, isActions = false } = column;
  return (
    <td
      role="cell"
      data-align={align}
      data-title={isTitle || undefined}
      data-actions={isActions || undefined}
      data-label={isTitle || isActions ? undefined : column.header}
    >
      {column.cell(row)}
    </td>
  );
}
