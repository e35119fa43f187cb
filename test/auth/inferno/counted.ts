/** How many assertions of which kit stand here, as the page beside this says it. */
import { FLOWS } from './flows.ts'
import type { KitRow } from './kit.ts'

/** `by` of a row names one or more tests, as `kit/test, test, kit/test`. */
function testsOf(by: string): readonly (readonly [kit: string, test: string])[] {
  let kit = ''
  return by.split(', ').map((each) => {
    const at = each.indexOf('/')
    if (at !== -1) kit = each.slice(0, at)
    return [kit, each.slice(at + 1)] as const
  })
}

/** Without the launch or the algorithm it is asked of. */
function assertionOf(holds: string): string {
  const prefix = [...Object.keys(FLOWS), 'ES384', 'RS384'].find((each) => holds.startsWith(`${each}: `))
  return prefix === undefined ? holds : holds.slice(prefix.length + 2)
}

/** A line for each kit: its name, its tests, what they assert, and rows. */
export function countRows(rows: readonly KitRow[]): readonly string[] {
  const kits = new Map<string, { tests: Set<string>; assertions: Set<string>; rows: number }>()
  for (const [by, holds] of rows) {
    for (const [kit, test] of testsOf(by)) {
      const known = kits.get(kit) ?? { tests: new Set(), assertions: new Set(), rows: 0 }
      kits.set(kit, known)
      known.tests.add(test)
      known.assertions.add(`${test} ${assertionOf(holds)}`)
      known.rows++
    }
  }
  return [...kits]
    .map(([kit, { tests, assertions, rows: count }]) => `| ${kit} | ${tests.size} | ${assertions.size} | ${count} |`)
    .toSorted()
}
