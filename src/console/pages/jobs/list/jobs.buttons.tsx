/** The buttons of the menus above the table, which are shown before their menus have been loaded. */
import { Button, type ButtonProps } from "@mantine/core";
import { IconColumns3, IconDownload } from "@tabler/icons-react";
import type { ComponentPropsWithRef } from "react";

type MenuButtonProps = ButtonProps & Omit<ComponentPropsWithRef<"button">, keyof ButtonProps>;

export function ExportButton(props: MenuButtonProps) {
  return (
    <Button variant="default" leftSection={<IconDownload size={16} aria-hidden="true" />} {...props}>
      Export
    </Button>
  );
}

export function ColumnsButton(props: MenuButtonProps) {
  return (
    <Button variant="default" leftSection={<IconColumns3 size={16} aria-hidden="true" />} {...props}>
      Columns
    </Button>
  );
}
