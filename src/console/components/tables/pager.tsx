/** Pagination: previous and next page, or "Show more". */
import { Button, Group, Text } from "@mantine/core";
import { IconChevronLeft, IconChevronRight } from "@tabler/icons-react";

interface CursorPagerProps {
  pageInfo: {
    readonly hasNextPage: boolean;
    readonly hasPreviousPage: boolean;
    readonly startCursor: string | null;
    readonly endCursor: string | null;
  };
  /** Such as "1,204 jobs, 25 on this page". */
  summary?: string;
  /** Puts the cursor into the URL. */
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
  /** If it rejects, the error is shown as a toast and the list stays. */
  onLoadMore: () => Promise<unknown>;
}

export function LoadMore({ hasMore, isLoading, onLoadMore }: LoadMoreProps) {
  if (!hasMore) return null;
  return (
    <Group justify="center" mt="md">
      <Button variant="default" loading={isLoading} onClick={() => void onLoadMore().catch(showError)}>
        Show more
      </Button>
    </Group>
  );
}

async function showError(error: unknown): Promise<void> {
  const { notifyError } = await import("../../app/interaction/toasts.tsx");
  notifyError(error);
}
