/** Live or test data in the lists of operators. Both components render nothing for partners. */
import { Badge, SegmentedControl } from "@mantine/core";
import { useSession } from "../../app/session/session.ts";
import type { ApiKeyRowFragment } from "../../generated/api-keys.ts";
import type { ListedModeSearch } from "./listed-mode.ts";

const modes = [
  { value: "live", label: "Live" },
  { value: "test", label: "Test" },
];

interface ListedModeControlProps {
  search: ListedModeSearch;
  onChange: (search: ListedModeSearch) => void;
}

export function ListedModeControl({ search, onChange }: ListedModeControlProps) {
  if (useSession().organization !== null) return null;
  return (
    <SegmentedControl
      size="sm"
      aria-label="Data"
      value={search.mode ?? "live"}
      onChange={(value) => onChange({ mode: value === "test" ? value : undefined })}
      data={modes}
    />
  );
}

/** Marks test data. */
export function TestBadge({ mode }: Pick<ApiKeyRowFragment, "mode">) {
  const isMarked = useSession().organization === null && mode === "TEST";
  return isMarked ? <Badge color="gray">Test</Badge> : null;
}
