/** The definitions in the notes of an index. They are written in the transaction of its documents. */
import { type Definitions, NO_DEFINITIONS } from '../custom-definitions.ts'
import type { FollowingIndex } from './indexing.ts'

type Notes = Pick<FollowingIndex, 'note' | 'setNote'>

const PARTS = ['definitions', 'rebuilds', 'poisoned'] as const

/** Returns the definitions that the index has stored. An earlier release stored all parts in the note of the first one. */
export const readDefinitions = (index: Notes): Definitions =>
  Object.assign({}, NO_DEFINITIONS, ...PARTS.map((part) => JSON.parse(String(index.note(part) ?? '{}')))) as Definitions

/** Writes the parts that differ from `before`, and returns their names. */
export function writeDefinitions(index: Notes, now: Definitions, before: Definitions): readonly (typeof PARTS)[number][] {
  const changed = PARTS.filter((part) => now[part] !== before[part])
  for (const part of changed) index.setNote(part, JSON.stringify({ [part]: now[part] }))
  return changed
}

/** Note with the position in the feed up to which documents have the values of the built parameters of packages. */
const PACKAGES_POSITION = 'packages-position'

/** Whether a release without parameters of packages has indexed documents. `position`: up to which the index has followed the feed. */
export const lacksPackageValues = (index: Notes, position: number): boolean => (index.note(PACKAGES_POSITION) ?? position) !== position

export const notePackageValues = (index: Notes, position: number): void => index.setNote(PACKAGES_POSITION, position)
