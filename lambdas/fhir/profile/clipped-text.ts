/** What definitions say, said again: no longer than somebody reads. */

/** Characters of a canonical that are said again. */
const LONGEST = 300

export const clipped = (text: string): string => (text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text)

/** Of many, the first ones. */
export const listed = (names: readonly unknown[], between = ', '): string =>
  names.length <= LISTED ? clipped(names.join(between)) : clipped(`${names.slice(0, LISTED).join(between)}…`)

const LISTED = 20
