/** Pages and their links, for searches and histories alike. */

/** A page ends early when its resources weigh more than this many bytes. */
export const HEAVIEST_PAGE = 4_500_000

/** Parameters as the query of a link. */
export const queryText = (pairs: readonly (readonly [string, string])[]): string =>
  new URLSearchParams(pairs.map(([name, value]): [string, string] => [name, value])).toString()
