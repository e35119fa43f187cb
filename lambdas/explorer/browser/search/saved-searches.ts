/** Searches that the person saved in this browser. */
import { storedJson, storeJson } from '../browser-storage.ts'

/** `path`: of the search, below the base. */
export type SavedSearch = { readonly name: string; readonly path: string; readonly query: string }

const KEY = 'fhir-explorer-searches'

/** Returns the saved searches with this path, in the order in which they were first saved. Skips damaged ones. */
export const savedSearchesOf = (path: string): readonly SavedSearch[] => savedSearches().filter((each) => each.path === path)

/** Saves a search without its cursor, which expires. Replaces the search of the same path and name. Throws Error if the browser does not store it. */
export function saveSearch(search: SavedSearch): void {
  const parameters = new URLSearchParams(search.query)
  parameters.delete('_cursor')
  const saved = { ...search, query: parameters.toString() }
  const before = savedSearches()
  const isSaved = before.some((each) => isSame(each, saved))
  storeJson(KEY, isSaved ? before.map((each) => (isSame(each, saved) ? saved : each)) : [...before, saved])
}

/** Removes the search of this path and name. Throws Error if the browser does not store the change. */
export const removeSearch = (search: SavedSearch): void =>
  storeJson(
    KEY,
    savedSearches().filter((each) => !isSame(each, search)),
  )

function savedSearches(): readonly SavedSearch[] {
  const stored = storedJson(KEY)
  return Array.isArray(stored) ? stored.filter(isSavedSearch) : []
}

const isSame = (a: SavedSearch, b: SavedSearch): boolean => a.path === b.path && a.name === b.name

function isSavedSearch(value: unknown): value is SavedSearch {
  if (typeof value !== 'object' || value === null) return false
  const { name, path, query } = value as Partial<Record<keyof SavedSearch, unknown>>
  return [name, path, query].every((each) => typeof each === 'string') && name !== ''
}
