/** What definitions say, said again: no longer than somebody reads. */

/** Characters of a canonical that are said again. */
const LONGEST = 300

export const clipText = (text: string): string => (text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text)

/** Of many, the first ones. */
export const joinFirst = (names: readonly unknown[], between = ', '): string =>
  names.length <= LISTED ? clipText(names.join(between)) : clipText(`${names.slice(0, LISTED).join(between)}…`)

const LISTED = 20
