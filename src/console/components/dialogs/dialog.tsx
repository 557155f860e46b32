/**
 * The base of every dialog and drawer. Escape, × and a click outside close it, except while a form in it is busy;
 * with unsaved input they ask first. Forms register through `useSubmit`, other input through `useUnsavedInput`.
 */
import { Drawer, Modal, type MantineSize } from "@mantine/core";
import { useEffect, useMemo, useRef, type ReactNode } from "react";
import { restoreFocusInside, useReturnFocus } from "../../app/interaction/return-focus.ts";
import {
  DialogProvider,
  useUnsavedChanges,
  useUnsavedInput,
  type InputState,
} from "../../app/interaction/unsaved-changes.tsx";

interface DialogProps {
  opened: boolean;
  /** Called after success, or after the user agreed to discard their input. */
  onClose: () => void;
  title: ReactNode;
  size?: MantineSize;
  /** Shows it at the right edge, at the full height of the window. */
  isDrawer?: boolean;
  /** For secrets that cannot be shown again: only a button in the content closes the dialog. */
  isShownOnce?: boolean;
  /** Class of the scrolling part. */
  className?: string | undefined;
  children: ReactNode;
}

export function Dialog(props: DialogProps) {
  const { opened, onClose, title, size, isDrawer = false, isShownOnce = false, className, children } = props;
  const { confirmDiscard } = useUnsavedChanges();
  const content = useRef<HTMLDivElement>(null);
  const isOpen = useRef(opened);
  const close = useRef(onClose);
  useEffect(() => {
    isOpen.current = opened;
    close.current = onClose;
  });
  useReturnFocus(opened, content);
  const control = useMemo(() => {
    const inputs = new Set<() => InputState>();
    const requestClose = async (): Promise<void> => {
      if (await confirmDiscard(inputs)) close.current();
      else restoreFocusInside(content);
    };
    return { inputs, isOpen, requestClose };
  }, [confirmDiscard]);
  const Frame = isDrawer ? Drawer : Modal;
  return (
    <Frame
      ref={content}
      opened={opened}
      onClose={() => void control.requestClose()}
      title={title}
      {...(size && { size })}
      {...(isDrawer && { position: "right" as const })}
      classNames={{ content: className ?? "" }}
      // A header without a role would be a second banner of the page.
      attributes={{ header: { role: "none" } }}
      returnFocus={false}
      withCloseButton={!isShownOnce}
      closeOnEscape={!isShownOnce}
      closeOnClickOutside={!isShownOnce}
    >
      <DialogProvider value={control}>
        {isShownOnce && <Locked />}
        {children}
      </DialogProvider>
    </Frame>
  );
}

function Locked() {
  useUnsavedInput(() => "locked");
  return null;
}
