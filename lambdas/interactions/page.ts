/** Pages and their links, for searches and histories alike. */
import type { ResourceVersion } from '../ports/resource-store.ts'

/** A page ends early when its resources weigh more than this many bytes. */
export const HEAVIEST_PAGE = 4_500_000

/** As many of the versions as a page may weigh, at least one. */
export function lightEnough(versions: readonly ResourceVersion[]): readonly ResourceVersion[] {
  let weight = 0
  const end = versions.findIndex(({ body }, i) => {
    weight += body.length
    return i > 0 && weight > HEAVIEST_PAGE
  })
  return end === -1 ? versions : versions.slice(0, end)
}

/** Parameters as the query of a link. */
export const queryText = (pairs: readonly (readonly [string, string])[]): string =>
  new URLSearchParams(pairs.map(([name, value]): [string, string] => [name, value])).toString()
