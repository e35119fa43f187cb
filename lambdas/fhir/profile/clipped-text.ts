/** Texts of definitions, shortened for messages. */

/** Maximum characters of a quoted text. The rest is replaced by an ellipsis. */
const LONGEST = 300

export const clipText = (text: string): string => (text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text)

/** Joins the first 20 names of a list. The text is cut too, so that a message stays short. */
export const joinFirst = (names: readonly unknown[], between = ', '): string =>
  names.length <= LISTED ? clipText(names.join(between)) : clipText(`${names.slice(0, LISTED).join(between)}…`)

const LISTED = 20
