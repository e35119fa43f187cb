/** Codes of a value set that its definition itself lists, or the code system it takes whole. */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { PACKAGE, readPackage, type Tree } from './definitions.ts'

export type Code = { readonly system: string; readonly code: string }

const CACHE = new Map<string, readonly Code[]>()

/** Empty where its codes are not all listed. */
export function codesOf(valueSet: string): readonly Code[] {
  const cached = CACHE.get(valueSet)
  if (cached !== undefined) return cached
  const file = `ValueSet-${valueSet.slice(valueSet.lastIndexOf('/') + 1)}.json`
  const compose = existsSync(join(PACKAGE, file)) ? readPackage(file).compose : undefined
  const parts: (readonly Code[])[] = compose?.exclude === undefined ? (compose?.include ?? []).map(included) : []
  const codes = parts.every(({ length }) => length > 0) ? parts.flat() : []
  CACHE.set(valueSet, codes)
  return codes
}

function included({ system, concept, filter, valueSet }: Tree): readonly Code[] {
  if (system === undefined || filter !== undefined || valueSet !== undefined) return []
  return (concept ?? conceptsOf(system)).map(({ code }: Tree) => ({ system, code }))
}

let systems: ReadonlyMap<string, Tree> | undefined

function conceptsOf(system: string): readonly Tree[] {
  systems ??= new Map(
    readdirSync(PACKAGE)
      .filter((file) => file.startsWith('CodeSystem-'))
      .map(readPackage)
      .map((each) => [each.url, each]),
  )
  const { content, concept = [] } = systems.get(system) ?? {}
  const all = (list: readonly Tree[]): readonly Tree[] => list.flatMap((each) => [each, ...all(each.concept ?? [])])
  return content === 'complete' ? all(concept) : []
}
