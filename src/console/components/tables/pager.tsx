/** The ways through a long list: page by page, or longer and longer. */
import { Button, Group, Text } from "@mantine/core";
import { IconChevronLeft, IconChevronRight } from "@tabler/icons-react";
import { notifyError } from "../../app/interaction/notify.ts";

interface CursorPagerProps {
  pageInfo: {
    readonly hasNextPage: boolean;
    readonly hasPreviousPage: boolean;
    readonly startCursor: string | null;
    readonly endCursor: string | null;
  };
  /** Which part of how many: "21–40 of 1,204". */
  summary?: string;
  /** Puts the cursor into the address. */
  onPageChange: (to: { after: string } | { before: string }) => void;
}

export function CursorPager({ pageInfo, summary, onPageChange }: CursorPagerProps) {
  const { hasNextPage, hasPreviousPage, startCursor, endCursor } = pageInfo;
  if (!hasNextPage && !hasPreviousPage && summary === undefined) return null;
  return (
    <Group component="nav" aria-label="Pages" justify="space-between" mt="md">
      <Text c="dimmed" fz="sm" aria-live="polite">
        {summary}
      </Text>
      <Group gap="xs">
        <Button
          variant="default"
          leftSection={<IconChevronLeft size={16} aria-hidden="true" />}
          disabled={!hasPreviousPage || startCursor === null}
          onClick={() => startCursor !== null && onPageChange({ before: startCursor })}
        >
          Previous
        </Button>
        <Button
          variant="default"
          rightSection={<IconChevronRight size={16} aria-hidden="true" />}
          disabled={!hasNextPage || endCursor === null}
          onClick={() => endCursor !== null && onPageChange({ after: endCursor })}
        >
          Next
        </Button>
      </Group>
    </Group>
  );
}

interface LoadMoreProps {
  hasMore: boolean;
  isLoading: boolean;
  /** What it throws is told in the corner: the list stands as it is. */
  onLoadMore: () => Promise<unknown>;
}

export function LoadMore({ hasMore, isLoading, onLoadMore }: LoadMoreProps) {
  if (!hasMore) return null;
  return (
    <Group justify="center" mt="md">
      <Button variant="default" loading={isLoading} onClick={() => void onLoadMore().catch(notifyError)}>
        Show more
      </Button>
    </Group>
  );
}
