/** Status of the search index, from `GET [base]/$reindex-status`. */
import { type Answer, read } from './http.ts'
import { isTree, type Tree, textOf, treesOf } from './json.ts'

/** State of a custom parameter for one of its resource types, `base`. `id`: of the SearchParameter. */
export type ParameterState = { readonly id: string; readonly base: string; readonly code: string; readonly state: string }

/** Rebuild of a type. `total`: undefined until the documents are counted. `isSearched`: false if searches are answered 503 until it is done. */
export type Rebuild = { readonly type: string; readonly done: number; readonly total: number | undefined; readonly isSearched: boolean }

/** Version that extraction failed on. `path`: of the version, such as `Patient/1/_history/2`. */
export type Unindexable = { readonly path: string; readonly reason: string }

/** `lag`: versions that searches do not find yet; undefined if the server does not count them. */
export type IndexStatus = {
  readonly answer: Answer
  readonly lag: number | undefined
  readonly parameters: readonly ParameterState[]
  readonly rebuilds: readonly Rebuild[]
  readonly unindexable: readonly Unindexable[]
}

/** Reads the status. Throws Refusal. */
export async function readIndexStatus(): Promise<IndexStatus> {
  const answer = await read('/$reindex-status')
  const all = treesOf(isTree(answer.body) ? answer.body.parameter : undefined)
  const partsOf = (name: string) => all.filter((each) => each.name === name).map(valuesOf)
  const lag = all.find(({ name }) => name === 'lag')?.valueInteger
  return {
    answer,
    lag: lag === undefined ? undefined : Number(textOf(lag)),
    parameters: partsOf('parameter').map(({ resource = '', base = '', code = '', state = '' }) => ({
      id: resource.replace(/^SearchParameter\//, ''),
      base,
      code,
      state,
    })),
    rebuilds: partsOf('rebuild').map(({ type = '', done, total, searched }) => ({
      type,
      done: Number(done ?? 0),
      total: total === undefined ? undefined : Number(total),
      isSearched: searched !== 'false',
    })),
    unindexable: partsOf('unreadable').map(({ resource = '', reason = '' }) => ({ path: resource, reason })),
  }
}

/** Whether the index is still working: versions wait, a type is rebuilt, or a parameter is built. */
export const isIndexing = ({ lag = 0, parameters, rebuilds }: IndexStatus): boolean =>
  lag > 0 || rebuilds.length > 0 || parameters.some(({ state }) => state !== 'active')

/** Returns the values of the parts by name. */
function valuesOf({ part }: Tree): Readonly<Record<string, string>> {
  return Object.fromEntries(
    treesOf(part).map((each) => {
      const value = Object.entries(each).find(([name]) => name.startsWith('value'))?.[1]
      return [textOf(each.name) ?? '', (isTree(value) ? textOf(value.reference) : textOf(value)) ?? '']
    }),
  )
}

/** Returns the lag as a sentence. */
export const lagText = (lag: number | undefined): string => {
  if (lag === undefined) return 'The server does not count the versions that searches do not find yet'
  if (lag === 0) return 'Searches find every version'
  return `Searches do not find ${lag.toLocaleString('en')} ${lag === 1 ? 'version' : 'versions'} yet`
}

/** Returns the progress of a rebuild, such as `50 of 100`. */
export const progressText = ({ done, total }: Rebuild): string =>
  total === undefined
    ? `${done.toLocaleString('en')}, total not counted yet`
    : `${done.toLocaleString('en')} of ${total.toLocaleString('en')}`
