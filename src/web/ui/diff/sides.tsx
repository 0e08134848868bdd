/** The column of a list of versions in which two of them are chosen to be compared. The address holds the choice. */
import { setQuery } from "../../state/router.ts";

/** The versions that are compared. */
export interface Compared {
  from: string;
  to: string;
}

/** The head of the column. */
export const COMPARE = (
  <th key="compare" scope="col">
    <span aria-hidden="true">Compare</span>
    <span class="sr-only">Compare: older, newer</span>
  </th>
);

interface SidesProps extends Compared {
  version: string;
  /** How the version is read out. */
  name: string;
}

/** Makes a version the older or the newer side. */
export function Sides({ version, name, from, to }: SidesProps) {
  return (
    <>
      <Side side="from" isChosen={version === from} {...{ version, name }} />
      <Side side="to" isChosen={version === to} {...{ version, name }} />
    </>
  );
}

interface SideProps extends Pick<SidesProps, "version" | "name"> {
  side: keyof Compared;
  isChosen: boolean;
}

function Side({ side, version, name, isChosen }: SideProps) {
  const which = side === "from" ? "older" : "newer";
  return (
    <label class="choice" title={side === "from" ? "Older side" : "Newer side"}>
      <input
        type="radio"
        name={`compare-${side}`}
        checked={isChosen}
        aria-label={`${name} as the ${which} side`}
        onChange={() => setQuery({ [side]: version }, { replace: true })}
      />
    </label>
  );
}
