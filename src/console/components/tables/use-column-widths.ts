/** The widths of the columns of a table, in pixels, which this browser keeps. Without any, the table fits its columns to their content. */
import { useLocalStorage } from "@mantine/hooks";

export type ColumnWidths = Readonly<Record<string, number>>;

export interface WidthState {
  widths: ColumnWidths;
  set: (widths: ColumnWidths) => void;
  reset: () => void;
}

const NONE: ColumnWidths = {};

/** `table`: names the table in the storage. All uses of a table have the same widths. */
export function useColumnWidths(table: string): WidthState {
  const [widths, set, reset] = useLocalStorage({
    key: `waymark.widths.${table}`,
    defaultValue: NONE,
    getInitialValueInEffect: false,
    deserialize: parseWidths,
  });
  return { widths, set, reset };
}

function parseWidths(text = "{}"): ColumnWidths {
  try {
    const entries = Object.entries(JSON.parse(text) as object);
    return Object.fromEntries(
      entries.filter((entry): entry is [string, number] => Number.isFinite(entry[1])),
    );
  } catch {
    return NONE;
  }
}
