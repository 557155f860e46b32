/** How to reach the recipient: links that call, write or open a map, and buttons that copy. */
import { Anchor, Group } from "@mantine/core";
import { IconMapPin } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { Clamped } from "../../../components/display/clamped.tsx";
import { CopyButton } from "../../../components/display/copy-button.tsx";
import { parseContact } from "./contact.parse.ts";
import { mapUrl } from "./map-url.ts";

export function Contact({ value }: { value: string }) {
  return (
    <Copyable value={value} label="contact">
      {parseContact(value).map(({ text, href }, index) =>
        href === null ? (
          text
        ) : (
          // oxlint-disable-next-line react/no-array-index-key -- the parts have no other identity
          <Anchor key={index} href={href}>
            {text}
          </Anchor>
        ),
      )}
    </Copyable>
  );
}

export function DeliveryAddress({ address, postalCode }: { address: string; postalCode: string | null }) {
  return (
    <>
      <Copyable value={address} label="address">
        <Clamped text={address} />
      </Copyable>
      <Anchor href={mapUrl(address, postalCode)} target="_blank" rel="noopener noreferrer" fz="sm">
        <Group component="span" gap={4} display="inline-flex">
          <IconMapPin size={15} aria-hidden="true" />
          Open map
        </Group>
      </Anchor>
    </>
  );
}

function Copyable({ value, label, children }: { value: string; label: string; children: ReactNode }) {
  return (
    <Group gap={4} wrap="nowrap" align="flex-start">
      <div style={{ minWidth: 0 }}>{children}</div>
      <CopyButton value={value} label={label} />
    </Group>
  );
}
