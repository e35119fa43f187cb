/** Changes of the setting `search.shards`. An index keeps its number of shards, so a type with another number gets a new index. */
import { requestNewIndices } from './rebuild-queue.ts'
import type { IndexState } from './state.ts'
import { rebuildPath } from './type-index.ts'

type ShardsByType = Readonly<Record<string, number>>

/**
 * Records the numbers of shards by type, and requests a new index of each type whose number differs from the recorded one. A type without an
 * index needs no request. A type that would get an existing index again keeps its recorded number, so that the next call requests a new
 * index.
 */
export function changeShards(state: IndexState, shards: ShardsByType): IndexState {
  const { shards: before = {}, types, extraction, epoch = 0 } = state
  const changed = Object.keys({ ...before, ...shards }).filter((type) => (before[type] ?? 1) !== (shards[type] ?? 1))
  const ready = changed.filter((type) => rebuildPath(types[type] ?? {}, extraction, epoch).kind === 'anew')
  if (ready.length === 0) return state
  const after = { ...before, ...Object.fromEntries(ready.map((type) => [type, shards[type] ?? 1])) }
  const indexed = ready.filter((type) => types[type]?.identity !== undefined)
  return { ...requestNewIndices(state, indexed), shards: Object.fromEntries(Object.entries(after).filter(([, count]) => count > 1)) }
}
