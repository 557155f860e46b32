/** Live or test data, and the organisation, in the lists of operators. */
import { Badge, SegmentedControl } from "@mantine/core";
import { TextLink } from "../../components/layout/links.tsx";
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

/** Renders nothing for partners. */
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

/** Marks test data for operators. */
export function TestBadge({ mode }: Pick<ApiKeyRowFragment, "mode">) {
  const isMarked = useSession().organization === null && mode === "TEST";
  return isMarked ? <Badge color="gray">Test</Badge> : null;
}

interface OrganizationCellProps extends Pick<ApiKeyRowFragment, "mode"> {
  /** Null for an operator's key. */
  organization: ApiKeyRowFragment["organization"];
}

/** A test organisation has no page. */
export function OrganizationCell({ organization, mode }: OrganizationCellProps) {
  if (organization === null) return "Operators";
  const { id, name } = organization;
  if (mode === "TEST")
    return (
      <>
        {name} <TestBadge mode={mode} />
      </>
    );
  return (
    <TextLink to="/operator/organizations/$id" params={{ id }}>
      {name}
    </TextLink>
  );
}
