/** An example made small: the first items of lists, nothing contained, no profiles, no narrative, no long texts. */
import type { Tree } from './definitions.ts'

const LONGEST = 100
const LEFT_OUT: ReadonlySet<string> = new Set(['contained', 'meta', 'text'])

export const small = (resource: Tree): Tree =>
  cut(Object.fromEntries(Object.entries(resource).filter(([key, value]) => !(LEFT_OUT.has(key) && typeof value === 'object')))) as Tree

function cut(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 2).map(cut)
  if (typeof value === 'string') return value.length > LONGEST ? value.slice(0, LONGEST).trim() : value
  if (typeof value !== 'object' || value === null) return value
  if ('reference' in value && String(value.reference).startsWith('#')) return { display: 'some reference' }
  const members = Object.entries(value).filter(([key]) => !key.startsWith('_') && key !== 'extension' && key !== 'data')
  return Object.fromEntries(members.map(([key, each]) => [key, cut(each)]))
}
