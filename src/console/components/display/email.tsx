/** An e-mail address, which a narrow column breaks at its parts and not within a word. */
import { Fragment } from "react";

export function Email({ address }: { address: string }) {
  return address.split(/(?=[@.])/).map((part, index) => (
    // oxlint-disable-next-line react/no-array-index-key -- the parts have no other identity
    <Fragment key={index}>
      {index > 0 && <wbr />}
      {part}
    </Fragment>
  ));
}
