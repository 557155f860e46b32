/** Items of a menu that link to the server's own pages. They open a new tab. */
import { Menu } from "@mantine/core";
import { IconBook2, type Icon } from "@tabler/icons-react";
import { serverUrl } from "../../app/api/server-url.ts";
import type { GuidePage } from "../../app/guide/guide-pages.ts";

interface GuideMenuItemProps {
  page: GuidePage;
  icon?: Icon;
  /** Default: the heading of the page. */
  label?: string;
}

export function GuideMenuItem({ page, icon = IconBook2, label = page.title }: GuideMenuItemProps) {
  return <ServerMenuItem icon={icon} path={`guide/${page.target}`} label={label} />;
}

interface ServerMenuItemProps {
  icon: Icon;
  /** Below the server's base URL. */
  path: string;
  label: string;
}

export function ServerMenuItem({ icon: Picture, path, label }: ServerMenuItemProps) {
  return (
    <Menu.Item
      component="a"
      href={serverUrl(path)}
      target="_blank"
      rel="noopener"
      leftSection={<Picture size={16} stroke={1.7} aria-hidden="true" />}
    >
      {label}
    </Menu.Item>
  );
}
