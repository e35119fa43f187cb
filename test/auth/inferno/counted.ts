/** How many assertions of which kit stand here, as the page beside this says it. */
import type { Row } from './kit.ts'

/** `by` of a row names one or more tests, as `kit/test, test, kit/test`. */
function testsOf(by: string): readonly (readonly [kit: string, test: string])[] {
  let kit = ''
  return by.split(', ').map((each) => {
    const at = each.indexOf('/')
    if (at !== -1) kit = each.slice(0, at)
    return [kit, each.slice(at + 1)] as const
  })
}

/** A line for each kit: its name, its tests, and rows. */
export function counted(rows: readonly Row[]): readonly string[] {
  const kits = new Map<string, { tests: Set<string>; rows: number }>()
  for (const [by] of rows)
    for (const [kit, test] of testsOf(by)) {
      const known = kits.get(kit) ?? { tests: new Set<string>(), rows: 0 }
      known.tests.add(test)
      known.rows++
      kits.set(kit, known)
    }
  return [...kits].map(([kit, { tests, rows: count }]) => `| ${kit} | ${tests.size} | ${count} |`).toSorted()
}
